/** Which addresses names have, as far as devices have been told or may need to know. Bounded. */
import { destinationOfName, type NamedAddresses, type NamedDestinations } from "./named-services.ts";

/**
 * How long an address stays after its name last had it, in milliseconds: long enough that a connection is not cut because a resolver
 * gives out its addresses in turns, and devices may use what they were told until it is over.
 */
export const heldMs = 10 * 60_000;
/** A name that nobody asked for during this time is forgotten, in milliseconds. */
export const rememberedMs = 24 * 3_600_000;
const mostNames = 10_000;
const mostAddressesOfAName = 64;

interface ResolvedName {
  /** When each address stops to count. */
  readonly addresses: Map<string, number>;
  askedAt: number;
  /** When what is known is no longer fresh. */
  staleAt: number;
}

export class ResolvedNames {
  /** By name, the one asked longest ago first. */
  readonly #names = new Map<string, ResolvedName>();

  /**
   * @param ttlMs how long the answer is fresh
   * @param isAsked by a device, rather than to keep it fresh
   * @returns whether there is an address that was not there before
   */
  learn(name: string, addresses: readonly string[], ttlMs: number, now: number, isAsked: boolean): boolean {
    const known = this.#names.get(name);
    const entry = known ?? { addresses: new Map<string, number>(), askedAt: now, staleAt: now };
    let isNew = false;
    for (const address of addresses.slice(0, mostAddressesOfAName)) {
      isNew ||= !entry.addresses.has(address);
      entry.addresses.delete(address);
      entry.addresses.set(address, now + ttlMs + heldMs);
    }
    for (const oldest of entry.addresses.keys()) {
      if (entry.addresses.size <= mostAddressesOfAName) break;
      entry.addresses.delete(oldest);
    }
    entry.staleAt = now + ttlMs;
    if (isAsked) entry.askedAt = now;
    if (isAsked || known === undefined) {
      this.#names.delete(name);
      this.#names.set(name, entry);
    }
    for (const oldest of this.#names.keys()) {
      if (this.#names.size <= mostNames) break;
      this.#names.delete(oldest);
    }
    return isNew;
  }

  /**
   * Forgets what is over.
   *
   * @returns whether an address went
   */
  forget(now: number): boolean {
    let isGone = false;
    for (const [name, { addresses, askedAt }] of this.#names) {
      for (const [address, until] of addresses) {
        if (until > now) continue;
        addresses.delete(address);
        isGone = true;
      }
      if (addresses.size === 0 && askedAt + rememberedMs <= now) this.#names.delete(name);
    }
    return isGone;
  }

  /** @returns names to resolve again: those that some device asked for not long ago, and all that the configuration spells out */
  stale(content: NamedDestinations, now: number): readonly string[] {
    const spelledOut = Object.keys(content.destinations).filter((key) => !key.includes("/") && !key.startsWith("*"));
    const wanted = new Set(spelledOut.filter((name) => (this.#names.get(name)?.staleAt ?? now) <= now));
    for (const name of this.staleOfAsked(content, now)) wanted.add(name);
    return [...wanted];
  }

  /** @returns names to resolve again that some device asked for not long ago, and that are still those of a destination */
  staleOfAsked(content: NamedDestinations, now: number): readonly string[] {
    const wanted: string[] = [];
    for (const [name, { askedAt, staleAt }] of this.#names) {
      const isWanted = askedAt + rememberedMs > now && destinationOfName(content, name) !== undefined;
      if (staleAt <= now && isWanted) wanted.push(name);
    }
    return wanted;
  }

  /** Marks a name as not to be tried again before that moment, without an answer. */
  postpone(name: string, until: number): void {
    const entry = this.#names.get(name) ?? { addresses: new Map<string, number>(), askedAt: until, staleAt: until };
    entry.staleAt = until;
    this.#names.set(name, entry);
  }

  /** For each address the destinations of its names. */
  named(content: NamedDestinations): NamedAddresses {
    const keysOf = new Map<string, Set<string>>();
    for (const [name, { addresses }] of this.#names) {
      const key = destinationOfName(content, name);
      if (key === undefined) continue;
      for (const address of addresses.keys()) keysOf.set(address, (keysOf.get(address) ?? new Set()).add(key));
    }
    return new Map([...keysOf].map(([address, keys]) => [address, [...keys].sort()]));
  }
}
