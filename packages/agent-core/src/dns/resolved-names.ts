import { destinationOfName, type NamedAddresses, type NamedDestinations } from "./named-services.ts";

/**
 * How long an address is retained after its name last had it. Resolvers rotate addresses, and devices use an answer
 * until it expires. Without this time, connections would break.
 */
export const heldMs = 10 * 60_000;
/** A name without a question for this time is forgotten. */
export const rememberedMs = 24 * 3_600_000;
const mostNames = 10_000;
const mostAddresses = 64;

interface ResolvedName {
  /** When each address expires. */
  readonly addresses: Map<string, number>;
  askedAt: number;
  /** When the name must be resolved again. */
  staleAt: number;
}

/** The addresses of names that devices asked for. The store is bounded. Times are by a monotonic clock. */
export class ResolvedNames {
  /** Names and their addresses. The name with the oldest question comes first. */
  readonly #names = new Map<string, ResolvedName>();

  /**
   * Stores an answer.
   *
   * @param ttlMs the TTL of the answer
   * @param isAsked whether a device asked, rather than a refresh
   * @returns whether an address is new
   */
  learn(name: string, addresses: readonly string[], ttlMs: number, now: number, isAsked: boolean): boolean {
    const known = this.#names.get(name);
    const entry = known ?? { addresses: new Map<string, number>(), askedAt: now, staleAt: now };
    let isNew = false;
    for (const address of addresses.slice(0, mostAddresses)) {
      isNew ||= !entry.addresses.has(address);
      entry.addresses.delete(address);
      entry.addresses.set(address, now + ttlMs + heldMs);
    }
    for (const oldest of entry.addresses.keys()) {
      if (entry.addresses.size <= mostAddresses) break;
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
   * Forgets expired addresses.
   *
   * @param isHeld whether the addresses of a name do not expire yet
   * @returns whether an address was removed
   */
  forget(now: number, isHeld: (name: string) => boolean = () => false): boolean {
    let isRemoved = false;
    for (const [name, { addresses, askedAt }] of this.#names) {
      const earliest = addresses.size > 0 && isHeld(name) ? now + heldMs : 0;
      for (const [address, until] of addresses) {
        if (until < earliest) addresses.set(address, earliest);
        if (until > now || earliest > 0) continue;
        addresses.delete(address);
        isRemoved = true;
      }
      if (addresses.size === 0 && askedAt + rememberedMs <= now) this.#names.delete(name);
    }
    return isRemoved;
  }

  /** Returns the names to resolve again: recently requested names, and all exact names of the configuration. */
  stale(content: NamedDestinations, now: number): readonly string[] {
    const exact = Object.keys(content.destinations).filter((key) => !key.includes("/") && !key.startsWith("*"));
    const wanted = new Set(exact.filter((name) => (this.#names.get(name)?.staleAt ?? now) <= now));
    for (const name of this.staleOfAsked(content, now)) wanted.add(name);
    return [...wanted];
  }

  /** Returns the recently requested names to resolve again that still belong to a destination. */
  staleOfAsked(content: NamedDestinations, now: number): readonly string[] {
    const wanted: string[] = [];
    for (const [name, { askedAt, staleAt }] of this.#names) {
      const isWanted = askedAt + rememberedMs > now && destinationOfName(content, name) !== undefined;
      if (staleAt <= now && isWanted) wanted.push(name);
    }
    return wanted;
  }

  /** Postpones the next query of a name that could not be resolved. */
  postpone(name: string, until: number): void {
    const entry = this.#names.get(name) ?? { addresses: new Map<string, number>(), askedAt: until, staleAt: until };
    entry.staleAt = until;
    this.#names.set(name, entry);
  }

  /** Returns the destinations of each address. */
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
