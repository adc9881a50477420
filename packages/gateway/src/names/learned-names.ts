import { canonicalAddress } from "@gatehouse/addresses/ip-block";
import {
  destinationOfName,
  type NamedAddresses,
  type NamedDestinations,
} from "@gatehouse/agent-core/dns/named-services";
import { heldMs } from "@gatehouse/agent-core/dns/resolved-names";

/** Limits of names. No device can evict the names of others. */
export const nameLimits = {
  namesOfDevice: 200,
  addressesOfAnswer: 16,
  addressesOfName: 32,
  /** More than one device can use with all its names, so that one device alone never fills a wildcard. */
  addressesOfWildcard: 8192,
  names: 10_000,
} as const;

interface LearnedName {
  /** The key of the destination in the latest configuration. */
  key: string;
  /** When each address expires, in canonical form. */
  readonly addresses: Map<string, number>;
  readonly devices: Set<string>;
  usedAt: number;
  ttlMs: number;
  /** When the name must be resolved again. */
  staleAt: number;
}

/**
 * The addresses of names that devices asked for, and of exact names. A name is resolved again while it is used: while
 * devices ask for it, or send packets to it. All times are by a monotonic clock, so that an address is not open for
 * longer after the wall clock was set back.
 */
export class LearnedNames {
  readonly #names = new Map<string, LearnedName>();
  /** The names that each device asked for. The oldest question comes first. */
  readonly #ofDevice = new Map<string, Set<string>>();
  readonly #addressesOf = new Map<string, number>();

  /**
   * Stores an answer.
   *
   * @param key the key of the name's destination
   * @param device the device that asked; undefined: a refresh
   * @returns whether an address is new. "full" if the wildcard has too many addresses, and nothing was stored
   */
  learn(
    { name, key }: { readonly name: string; readonly key: string },
    addresses: readonly string[],
    ttlMs: number,
    now: number,
    device: string | undefined,
  ): boolean | "full" {
    const known = this.#names.get(name);
    // A device evicted the name while it was refreshed.
    if (known === undefined && device === undefined && key !== name) return false;
    const texts = addresses
      .slice(0, nameLimits.addressesOfAnswer)
      .map((address) => canonicalAddress(address) ?? address);
    const fresh = texts.filter((address) => known?.addresses.has(address) !== true);
    if (key !== name && !this.#makeRoom(key, fresh.length, name, device)) return "full";
    const entry = known ?? { key, addresses: new Map(), devices: new Set(), usedAt: now, ttlMs, staleAt: now };
    this.#count(entry, -entry.addresses.size);
    entry.key = key;
    for (const address of texts) {
      entry.addresses.delete(address);
      entry.addresses.set(address, now + ttlMs + heldMs);
    }
    for (const oldest of entry.addresses.keys()) {
      if (entry.addresses.size <= nameLimits.addressesOfName) break;
      entry.addresses.delete(oldest);
    }
    this.#count(entry, entry.addresses.size);
    this.#names.set(name, entry);
    entry.staleAt = now + ttlMs;
    entry.ttlMs = ttlMs;
    if (device !== undefined) {
      entry.usedAt = now;
      this.#assign(name, entry, device);
    }
    this.#evictSurplus();
    return fresh.length > 0;
  }

  /** Removes expired addresses, and names that are not used. @returns whether an address was removed */
  forget(now: number): boolean {
    let isRemoved = false;
    for (const [name, entry] of this.#names) {
      const { addresses, usedAt } = entry;
      for (const [address, until] of addresses) {
        if (until > now) continue;
        addresses.delete(address);
        this.#count(entry, -1);
        isRemoved = true;
      }
      if (addresses.size === 0 && usedAt + heldMs <= now) this.#remove(name);
    }
    return isRemoved;
  }

  /** Marks the names of addresses that packets were sent to. */
  used(addresses: ReadonlySet<string>, now: number): void {
    for (const entry of this.#names.values()) {
      for (const address of entry.addresses.keys()) {
        if (!addresses.has(address)) continue;
        entry.usedAt = now;
        break;
      }
    }
  }

  /** Whether the addresses in use decide which names to resolve again. */
  needsUse(now: number): boolean {
    for (const entry of this.#names.values()) if (entry.staleAt <= now && !isInUse(entry, now)) return true;
    return false;
  }

  /** Returns the names to resolve again: all exact names of the configuration, and names in use. */
  stale(content: NamedDestinations, now: number): readonly string[] {
    const exact = Object.keys(content.destinations).filter((key) => !key.includes("/") && !key.startsWith("*"));
    const wanted = new Set(exact.filter((name) => (this.#names.get(name)?.staleAt ?? now) <= now));
    for (const [name, entry] of this.#names) {
      if (entry.staleAt <= now && isInUse(entry, now) && destinationOfName(content, name) !== undefined) {
        wanted.add(name);
      }
    }
    return [...wanted];
  }

  /** Postpones the next query of a name that could not be resolved. */
  postpone(name: string, until: number): void {
    const entry = this.#names.get(name) ?? {
      key: name,
      addresses: new Map<string, number>(),
      devices: new Set<string>(),
      usedAt: Number.NEGATIVE_INFINITY,
      ttlMs: 0,
      staleAt: until,
    };
    entry.staleAt = until;
    this.#names.set(name, entry);
  }

  /** Returns the destinations of each address. @param isOpen whether names may open an address */
  named(content: NamedDestinations, isOpen: (address: string, key: string) => boolean): NamedAddresses {
    const keysOf = new Map<string, Set<string>>();
    for (const [name, entry] of this.#names) {
      const key = destinationOfName(content, name);
      if (key === undefined) continue;
      if (key !== entry.key) {
        this.#count(entry, -entry.addresses.size);
        entry.key = key;
        this.#count(entry, entry.addresses.size);
      }
      for (const address of entry.addresses.keys()) {
        if (!isOpen(address, key)) continue;
        const keys = keysOf.get(address);
        if (keys === undefined) keysOf.set(address, new Set([key]));
        else keys.add(key);
      }
    }
    return new Map([...keysOf].map(([address, keys]) => [address, [...keys].sort()]));
  }

  /** Evicts names of the asking device until the wildcard has room. @returns whether it has room */
  #makeRoom(key: string, count: number, name: string, device: string | undefined): boolean {
    const hasRoom = () => (this.#addressesOf.get(key) ?? 0) + count <= nameLimits.addressesOfWildcard;
    const own = device === undefined ? [] : (this.#ofDevice.get(device) ?? []);
    for (const oldest of [...own]) {
      if (hasRoom()) break;
      const entry = this.#names.get(oldest);
      if (oldest !== name && entry?.key === key && entry.devices.size === 1) this.#remove(oldest);
    }
    return hasRoom();
  }

  #count({ key }: LearnedName, change: number): void {
    const count = (this.#addressesOf.get(key) ?? 0) + change;
    if (count === 0) this.#addressesOf.delete(key);
    else this.#addressesOf.set(key, count);
  }

  #assign(name: string, entry: LearnedName, device: string): void {
    const names = this.#ofDevice.get(device) ?? new Set<string>();
    this.#ofDevice.set(device, names);
    names.delete(name);
    names.add(name);
    entry.devices.add(device);
    for (const oldest of names) {
      if (names.size <= nameLimits.namesOfDevice) break;
      this.#release(oldest, device);
    }
  }

  /** Evicts the oldest names of the device with the most names. */
  #evictSurplus(): void {
    while (this.#names.size > nameLimits.names) {
      let largest: [device: string, names: Set<string>] | undefined;
      for (const one of this.#ofDevice) if (largest === undefined || one[1].size > largest[1].size) largest = one;
      const [oldest] = largest?.[1] ?? [];
      if (largest === undefined || oldest === undefined) return;
      this.#release(oldest, largest[0]);
    }
  }

  /** Removes a name from a device, and altogether if no other device asked for it. */
  #release(name: string, device: string): void {
    this.#ofDevice.get(device)?.delete(name);
    const entry = this.#names.get(name);
    entry?.devices.delete(device);
    if (entry?.devices.size === 0) this.#remove(name);
  }

  #remove(name: string): void {
    const entry = this.#names.get(name);
    if (entry !== undefined) this.#count(entry, -entry.addresses.size);
    for (const device of entry?.devices ?? []) {
      const names = this.#ofDevice.get(device);
      names?.delete(name);
      if (names?.size === 0) this.#ofDevice.delete(device);
    }
    this.#names.delete(name);
  }
}

/** Whether a device asked for the name, or used it, within three times the TTL of its answer. */
function isInUse({ usedAt, ttlMs }: LearnedName, now: number): boolean {
  return usedAt + 3 * ttlMs > now;
}
