/** Decides which addresses a resolved name may open: SPEC.md, "DNS". */
import { networkInterfaces } from "node:os";
import { embeddedAddresses, isClosedTarget } from "@gatehouse/addresses/closed-targets";
import { blockCheck } from "@gatehouse/addresses/disjoint-ranges";
import { parseIpAddress } from "@gatehouse/addresses/ip-address";
import { canonicalAddress, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { isReachableUnicast } from "@gatehouse/addresses/reachable-unicast";
import { nonRoutableBlocks } from "@gatehouse/addresses/special-purpose";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";

/** Addresses that no name opens, as of now. They change without a configuration. */
export interface ClosedAddresses {
  /** Returns the addresses of this machine. */
  readonly own: () => readonly string[];
  /** Returns the addresses of the control plane; none: unknown, or not connected. */
  readonly controlPlane: () => readonly string[];
}

export class AnswerFilter {
  readonly #closed: ClosedAddresses;

  constructor(closed: ClosedAddresses) {
    this.#closed = closed;
  }

  /**
   * Returns a check of addresses that were just resolved for a name.
   *
   * @param key the key of the name's destination
   * @returns a function that returns whether the address may be answered and opened
   */
  forAnswers(content: ConfigurationContent, key: string): (address: string) => boolean {
    const pools = content.settings.interface.pools.flatMap((pool) => parseIpBlock(pool) ?? []);
    const isClosed = this.#closedCheck();
    const isGlobalOnly = content.destinations[key]?.answers === "global";
    const mayAnswer = answerChecks(content);
    return (address) =>
      !isClosedTarget(address, pools) &&
      [address, ...embeddedAddresses(address)].every((one) => !isClosed(one) && (!isGlobalOnly || isGlobal(one))) &&
      // Limits apply to the address itself, because a site reaches its NAT64 prefix by that prefix.
      mayAnswer(address, key);
  }

  /** Returns a check of addresses that passed `forAnswers` earlier, in canonical form, for a destination. */
  forFilters(content: ConfigurationContent): (address: string, key: string) => boolean {
    const isClosed = this.#closedCheck();
    const mayAnswer = answerChecks(content);
    return (address, key) => !isClosed(address) && mayAnswer(address, key);
  }

  #closedCheck(): (address: string) => boolean {
    const canonical = (address: string) => canonicalAddress(address) ?? address;
    const closed = new Set([...this.#closed.own(), ...this.#closed.controlPlane()].map(canonical));
    return (address) => closed.has(canonical(address));
  }

  /** Returns a check of answers for names of the internet, which open nothing. */
  static forInternet({ settings }: ConfigurationContent): (address: string) => boolean {
    const pools = settings.interface.pools.flatMap((pool) => parseIpBlock(pool) ?? []);
    return (address) => !isWithin(address, [...nonRoutableBlocks, ...pools]);
  }
}

/** Returns a check of whether the `answers` of a destination include an address: SPEC.md, "DNS". */
function answerChecks({ settings, destinations }: ConfigurationContent): (address: string, key: string) => boolean {
  const checks = new Map<string, (address: string) => boolean>();
  const checkOf = (key: string) => {
    const answers = destinations[key]?.answers;
    if (answers === undefined) return () => true;
    if (answers === "global") return isGlobal;
    return blockCheck(answers === "networks" ? (settings.dns.networks ?? []) : answers);
  };
  return (address, key) => {
    const check = checks.get(key) ?? checkOf(key);
    checks.set(key, check);
    return check(address);
  };
}

function isGlobal(text: string): boolean {
  const address = parseIpAddress(text);
  return address !== undefined && isReachableUnicast(address);
}

/** Returns the addresses of all interfaces. */
export function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}
