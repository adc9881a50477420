import { parseAddressText } from "@gatehouse/addresses/address-text";
import { addressWidth, type IpAddress, type IpVersion } from "@gatehouse/addresses/ip-address";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import { finish, recordCost, recordsAtOnce, type Work } from "../work.ts";
import type { ResourceFacts, TransportProtocol } from "./facts.ts";
import { Table } from "./table.ts";

/** A resource at an address, and the services that it offers there. */
export interface AddressEntry {
  readonly resourceId: string;
  readonly offers: readonly Offer[];
}

/** A transport protocol with its lowest and highest port. */
export interface Offer {
  readonly protocol: TransportProtocol;
  readonly first: number;
  readonly last: number;
}

type Entries = readonly AddressEntry[];
type Directory = Table<Entries>;

const none: Entries = [];

/** The directory of an address, and the key of the address in that directory. */
type AddressKey =
  | { readonly kind: "host" | "wildcard"; readonly lookupKey: string }
  | {
      readonly kind: "range";
      readonly version: IpVersion;
      readonly first: bigint;
      readonly prefixLength: number;
      readonly lookupKey: string;
    };

interface Directories {
  readonly host: Directory;
  /** Indexed by the parent domain of the names that a wildcard matches. */
  readonly wildcard: Directory;
  /** Indexed by prefix length: 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly v4: readonly (Directory | undefined)[];
  readonly v6: readonly (Directory | undefined)[];
}

/** Index from addresses to resources (contract, "Policy evaluation", step 2). Immutable. */
export class AddressDirectory {
  static readonly empty = new AddressDirectory({ host: Table.empty, wildcard: Table.empty, v4: [], v6: [] });

  readonly #directories: Directories;

  private constructor(directories: Directories) {
    this.#directories = directories;
  }

  static of(resources: Iterable<ResourceFacts>): AddressDirectory {
    return AddressDirectory.empty.with([], resources);
  }

  /** Like `of`, as work that can be suspended between two resources. */
  static *compiling(resources: Iterable<ResourceFacts>): Work<AddressDirectory> {
    const changed = new Changes(AddressDirectory.empty.#directories);
    let addresses = 0;
    for (const resource of resources) {
      changed.addAll(resource);
      addresses += resource.addresses.length;
      if (addresses < recordsAtOnce) continue;
      yield addresses * recordCost;
      addresses = 0;
    }
    return new AddressDirectory(changed.taken());
  }

  /** A directory without the resources in `before` and with those in `after`. */
  with(before: Iterable<ResourceFacts>, after: Iterable<ResourceFacts>): AddressDirectory {
    return finish(this.changing(before, after));
  }

  /** Like `with`, as work that can be suspended between some resources. */
  *changing(before: Iterable<ResourceFacts>, after: Iterable<ResourceFacts>): Work<AddressDirectory> {
    const changed = new Changes(this.#directories);
    let addresses = 0;
    for (const resource of before) {
      for (const key of addressKeysOf(resource)) changed.remove(key, resource.id);
      addresses += resource.addresses.length;
      if (addresses < recordsAtOnce) continue;
      yield addresses * recordCost;
      addresses = 0;
    }
    for (const resource of after) {
      changed.addAll(resource);
      addresses += resource.addresses.length;
      if (addresses < recordsAtOnce) continue;
      yield addresses * recordCost;
      addresses = 0;
    }
    return new AddressDirectory(yield* changed.applying());
  }

  /** The entries of the most specific address that matches a host name: the name itself, or the longest wildcard. */
  ofHost(name: string): Entries {
    return this.#directories.host.get(name) ?? this.#ofWildcard(name);
  }

  /** The entries of the longest prefix that contains an IP address. */
  ofIp({ version, bits }: IpAddress): Entries {
    return this.#ofPrefix(version, bits, addressWidth(version));
  }

  /** The entries at the address of a resource, which can be a block or a wildcard. */
  atAddress(text: string): AddressEntries {
    const key = addressKeyOf(text);
    if (key === undefined) return { same: none, enclosing: none };
    const { host, wildcard, v4, v6 } = this.#directories;
    if (key.kind !== "range") {
      const same = (key.kind === "host" ? host : wildcard).get(key.lookupKey) ?? none;
      return { same, enclosing: this.#ofWildcard(key.lookupKey) };
    }
    const { version, first, prefixLength, lookupKey } = key;
    const same = (version === 4 ? v4 : v6)[prefixLength]?.get(lookupKey) ?? none;
    return { same, enclosing: this.#ofPrefix(version, first, prefixLength - 1) };
  }

  /** The entries of the longest wildcard for the parent domains of a name. */
  #ofWildcard(name: string): Entries {
    const { wildcard } = this.#directories;
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      const entries = wildcard.get(name.slice(dot + 1));
      if (entries !== undefined) return entries;
    }
    return none;
  }

  /** The entries of the longest prefix that contains an IP address and does not exceed a length. */
  #ofPrefix(version: IpVersion, bits: bigint, longest: number): Entries {
    const directories = version === 4 ? this.#directories.v4 : this.#directories.v6;
    const width = addressWidth(version);
    for (let length = longest; length >= 0; length -= 1) {
      const entries = directories[length]?.get(rangeKey(bits, width - length));
      if (entries !== undefined) return entries;
    }
    return none;
  }
}

/** The entries at an address of a resource. */
export interface AddressEntries {
  /** The entries with exactly this address, in the order in which their resources were created. */
  readonly same: Entries;
  /** The entries of the smallest larger block, or of the longest other wildcard, that contains the address. */
  readonly enclosing: Entries;
}

/** Whether an entry offers a protocol and port. An undefined protocol or port matches every offer. */
export function isOffered(
  entry: AddressEntry,
  protocol: TransportProtocol | undefined,
  port: number | undefined,
): boolean {
  if (protocol === undefined) return true;
  return entry.offers.some(
    (offer) => offer.protocol === protocol && (port === undefined || (offer.first <= port && port <= offer.last)),
  );
}

/** The services that a resource offers at all of its addresses together. */
export function offersOf({ id, addresses }: ResourceFacts): AddressEntry {
  return { resourceId: id, offers: addresses.flatMap(({ protocols }) => protocols.map(offerOf)) };
}

/** Whether the outer entry offers everything that the inner entry offers. */
export function offersWithin(inner: AddressEntry, outer: AddressEntry): boolean {
  return inner.offers.every(({ protocol, first, last }) =>
    outer.offers.some((offer) => offer.protocol === protocol && offer.first <= first && last <= offer.last),
  );
}

/** Collects changes, so that each part of a directory is copied only once. */
class Changes {
  readonly #directories: Directories;
  readonly #hosts = new Map<string, Entries>();
  readonly #wildcards = new Map<string, Entries>();
  readonly #ranges = { 4: new Map<number, Map<string, Entries>>(), 6: new Map<number, Map<string, Entries>>() };

  constructor(directories: Directories) {
    this.#directories = directories;
  }

  addAll({ id: resourceId, addresses }: ResourceFacts): void {
    for (const { address, protocols } of addresses) {
      const key = addressKeyOf(address);
      if (key !== undefined) this.add(key, { resourceId, offers: protocols.map(offerOf) });
    }
  }

  add(key: AddressKey, entry: AddressEntry): void {
    this.#change(key, (entries) => {
      const { resourceId } = entry;
      // A resource may list one address in two notations: 192.0.2.1 and 192.0.2.1/32.
      const same = entries.find((other) => other.resourceId === resourceId);
      const whole = same === undefined ? entry : { resourceId, offers: [...same.offers, ...entry.offers] };
      // Ids are UUIDv7, so this is the order of creation.
      const before = entries.filter((other) => other.resourceId < resourceId);
      return [...before, whole, ...entries.filter((other) => other.resourceId > resourceId)];
    });
  }

  remove(key: AddressKey, id: string): void {
    this.#change(key, (entries) => entries.filter(({ resourceId }) => resourceId !== id));
  }

  /**
   * The directories without the former entries. Takes the collected maps instead of copying them: copying all addresses
   * of a tenant would block the event loop. Nothing may be changed or removed.
   */
  taken(): Directories {
    const rangesOf = (version: IpVersion) => {
      const directories: (Directory | undefined)[] = [];
      for (const [length, entries] of this.#ranges[version]) directories[length] = Table.ofMap(entries);
      return directories;
    };
    return { host: Table.ofMap(this.#hosts), wildcard: Table.ofMap(this.#wildcards), v4: rangesOf(4), v6: rangesOf(6) };
  }

  *applying(): Work<Directories> {
    const { host, wildcard, v4, v6 } = this.#directories;
    return {
      host: yield* host.changing(withoutEmpty(this.#hosts)),
      wildcard: yield* wildcard.changing(withoutEmpty(this.#wildcards)),
      v4: yield* this.#applyingRanges(4, v4),
      v6: yield* this.#applyingRanges(6, v6),
    };
  }

  *#applyingRanges(version: IpVersion, directories: Directories["v4"]): Work<Directories["v4"]> {
    const changed = [...directories];
    for (const [length, entries] of this.#ranges[version]) {
      const directory = yield* (changed[length] ?? Table.empty).changing(withoutEmpty(entries));
      changed[length] = directory.size === 0 ? undefined : directory;
    }
    return changed;
  }

  #change(key: AddressKey, change: (entries: Entries) => Entries): void {
    const [changes, directory] = this.#at(key);
    changes.set(key.lookupKey, change(changes.get(key.lookupKey) ?? directory?.get(key.lookupKey) ?? none));
  }

  #at(key: AddressKey): [changes: Map<string, Entries>, directory: Directory | undefined] {
    if (key.kind !== "range") {
      const { host, wildcard } = this.#directories;
      return key.kind === "host" ? [this.#hosts, host] : [this.#wildcards, wildcard];
    }
    const { version, prefixLength } = key;
    const directories = version === 4 ? this.#directories.v4 : this.#directories.v6;
    let changes = this.#ranges[version].get(prefixLength);
    if (changes === undefined) {
      changes = new Map();
      this.#ranges[version].set(prefixLength, changes);
    }
    return [changes, directories[prefixLength]];
  }
}

function* withoutEmpty(changes: ReadonlyMap<string, Entries>): Iterable<readonly [string, Entries | undefined]> {
  for (const [key, entries] of changes) yield [key, entries.length === 0 ? undefined : entries];
}

function* addressKeysOf({ addresses }: ResourceFacts): Iterable<AddressKey> {
  for (const { address } of addresses) {
    const key = addressKeyOf(address);
    if (key !== undefined) yield key;
  }
}

/** @returns undefined for a text that is not an address; such a text is never stored */
function addressKeyOf(text: string): AddressKey | undefined {
  const reading = parseAddressText(text);
  if (!reading.ok) return undefined;
  const { value } = reading;
  if (!value.isIp) {
    return { kind: value.kind, lookupKey: value.kind === "wildcard" ? value.text.slice("*.".length) : value.text };
  }
  const { version, first, prefixLength } = value.range;
  const lookupKey = rangeKey(first, addressWidth(version) - prefixLength);
  return { kind: "range", version, first, prefixLength, lookupKey };
}

function rangeKey(bits: bigint, hostBits: number): string {
  return (bits >> BigInt(hostBits)).toString(36);
}

function offerOf({ protocol, port }: NetworkProtocol): Offer {
  if (port === undefined) return { protocol, first: 0, last: 65_535 };
  const [first = "", last = first] = port.split("-");
  return { protocol, first: Number(first), last: Number(last) };
}
