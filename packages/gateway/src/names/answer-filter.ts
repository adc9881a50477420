/** Decides which addresses a resolved name may open: SPEC.md, "DNS". */
import { networkInterfaces } from "node:os";
import { embeddedAddresses, isClosedTarget } from "@gatehouse/addresses/closed-targets";
import { canonicalAddress, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
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
   * Returns a check of addresses that were just resolved.
   *
   * @returns a function that returns whether the address may be answered and opened
   */
  forAnswers({ settings }: ConfigurationContent): (address: string) => boolean {
    const pools = settings.interface.pools.flatMap((pool) => parseIpBlock(pool) ?? []);
    const isOpen = this.forFilters();
    return (address) =>
      !isClosedTarget(address, pools) &&
      [address, ...embeddedAddresses(address)].every((one) => isOpen(canonicalAddress(one) ?? one));
  }

  /** Returns a check of addresses that passed `forAnswers` earlier, in canonical form. */
  forFilters(): (address: string) => boolean {
    const all = [...this.#closed.own(), ...this.#closed.controlPlane()];
    const closed = new Set(all.map((address) => canonicalAddress(address) ?? address));
    return (address) => !closed.has(address);
  }

  /** Returns a check of answers for names of the internet, which open nothing. */
  static forInternet({ settings }: ConfigurationContent): (address: string) => boolean {
    const pools = settings.interface.pools.flatMap((pool) => parseIpBlock(pool) ?? []);
    return (address) => !isWithin(address, [...nonRoutableBlocks, ...pools]);
  }
}

/** Returns the addresses of all interfaces. */
export function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
}
