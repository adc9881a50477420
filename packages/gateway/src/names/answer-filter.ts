/** Decides which addresses a resolved name may open: SPEC.md, "DNS". */
import { networkInterfaces } from "node:os";
import { embeddedAddresses, isClosedTarget } from "@gatehouse/addresses/closed-targets";
import { parseIpAddress } from "@gatehouse/addresses/ip-address";
import { canonicalAddress, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { isReachableUnicast } from "@gatehouse/addresses/reachable-unicast";
import { nonRoutableBlocks } from "@gatehouse/addresses/special-purpose";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";

/** Addresses that no name opens, as of now. They change without a configuration. */
export interface ClosedAddresses {
  /** Returns the addresses of this machine. */
  readonly own: () => readonly string[];
  /** Returns the addresses of the control plane; none: unknown, or there is no link. */
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
    const isOpen = this.forFilters(content);
    return (address) =>
      !isClosedTarget(address, pools) &&
      isOpen(canonicalAddress(address) ?? address, key) &&
      embeddedAddresses(address).every((one) => isOpen(canonicalAddress(one) ?? one, key));
  }

  /** Returns a check of addresses that passed `forAnswers` earlier, in canonical form, for a destination. */
  forFilters({ destinations }: ConfigurationContent): (address: string, key: string) => boolean {
    const all = [...this.#closed.own(), ...this.#closed.controlPlane()];
    const closed = new Set(all.map((address) => canonicalAddress(address) ?? address));
    return (address, key) => !closed.has(address) && (destinations[key]?.answers !== "global" || isGlobal(address));
  }

  /** Returns a check of answers for names of the internet, which open nothing. */
  static forInternet({ settings }: ConfigurationContent): (address: string) => boolean {
    const pools = settings.interface.pools.flatMap((pool) => parseIpBlock(pool) ?? []);
    return (address) => !isWithin(address, [...nonRoutableBlocks, ...pools]);
  }
}

function isGlobal(text: string): boolean {
  const address = parseIpAddress(text);
  return address !== undefined && isReachableUnicast(address);
}

/** Returns the addresses of all interfaces. */
export function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}
