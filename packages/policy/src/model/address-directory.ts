import { addressWidth, type IpAddress, type IpVersion } from "@gatehouse/addresses/ip-address";
import { merging } from "../sorting.ts";
import { entriesAtOnce, entryCost, forEach, recordCost, recordsAtOnce, type Work } from "../work.ts";
import { type AddressKey, addressKeyOf, hostKey, rangeKey, wildcardKey } from "./address-key.ts";
import { type AddressEntry, type Entries, OfferIndex } from "./address-offers.ts";
import type { CompiledResource } from "./compiled-resource.ts";
import type { ResourceFacts } from "./facts.ts";
import { AddressColumns, type FoundAddress, findingEntries, PackedAddresses } from "./packed-addresses.ts";
import type { Table } from "./table.ts";

const none: Entries = [];

/** The lengths of the prefixes that resources have or had, the longest first. */
type PrefixLengths = Readonly<Record<IpVersion, readonly number[]>>;

interface Parts {
  readonly resources: Table<CompiledResource>;
  readonly base: PackedAddresses;
  /** The entries of all addresses that resources lost or received since the base was built. */
  readonly changed: ReadonlyMap<string, Entries>;
  readonly lengths: PrefixLengths;
}

/** Index from addresses to resources (contract, "Policy evaluation", step 2). Immutable. */
export class AddressDirectory {
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Indexes the addresses of all resources, as work that can be suspended between some of them. */
  static *compiling(resources: Table<CompiledResource>): Work<AddressDirectory> {
    const columns = new AddressColumns();
    const lengths = new CollectedLengths({ 4: [], 6: [] });
    let unpaid = 0;
    for (const resource of resources.values()) {
      unpaid += resource.decodingCost;
      const { size } = columns;
      columns.addAll(resource, (key) => lengths.add(key));
      unpaid += (columns.size - size) * recordCost;
      if (unpaid < recordsAtOnce * recordCost) continue;
      yield unpaid;
      unpaid = 0;
    }
    const base = yield* PackedAddresses.indexing(columns, resources);
    return new AddressDirectory({ resources, base, changed: new Map(), lengths: lengths.sorted() });
  }

  /**
   * A directory without the resources in `before` and with those in `after`, as work that can be suspended between some
   * of them.
   *
   * @param resources all resources after the change
   */
  *changing(
    before: Iterable<ResourceFacts>,
    after: Iterable<ResourceFacts>,
    resources: Table<CompiledResource>,
  ): Work<AddressDirectory> {
    const { base } = this.#parts;
    const changed = yield* copying(this.#parts.changed);
    const lengths = new CollectedLengths(this.#parts.lengths);
    // Each list is written once, because many resources can change at one address.
    const received = new Map<string, FoundAddress[]>();
    const formerIds = new Set<string>();
    let addresses = 0;
    for (const records of [before, after]) {
      for (const { id, addresses: own } of records) {
        if (records === before) formerIds.add(id);
        for (const [position, facts] of own.entries()) {
          const key = addressKeyOf(facts.address);
          if (key === undefined) continue;
          lengths.add(key);
          const list = received.get(key.text) ?? [];
          if (list.length === 0) received.set(key.text, list);
          if (records === after) list.push({ resourceId: id, position, facts });
        }
        addresses += own.length;
        if (addresses < recordsAtOnce) continue;
        yield addresses * recordCost;
        addresses = 0;
      }
    }
    for (const [key, added] of received) {
      const remaining = yield* without(formerIds, this.#at(key) ?? none);
      const entries = yield* merging(remaining, yield* findingEntries(added), inOrderOfIds);
      changed.set(key, yield* OfferIndex.indexing(entries));
    }
    const parts = { resources, lengths: lengths.sorted() };
    // After this many changes, the index is built again. This then costs little per change.
    if (changed.size <= Math.max(64, Math.sqrt(base.size) * 10))
      return new AddressDirectory({ ...parts, base, changed });
    return new AddressDirectory({ ...parts, base: yield* base.changing(changed, resources), changed: new Map() });
  }

  /** The entries of the most specific address that matches a host name: the name itself, or the longest wildcard. */
  ofHost(name: string): Entries {
    return this.#at(hostKey(name)) ?? this.#ofWildcard(name);
  }

  /** The entries of the longest prefix that contains an IP address. */
  ofIp({ version, bits }: IpAddress): Entries {
    return this.#ofPrefix(version, bits, addressWidth(version));
  }

  /** The entries at the address of a resource, which can be a block or a wildcard. */
  atAddress(text: string): AddressEntries {
    const key = addressKeyOf(text);
    if (key === undefined) return { same: none, enclosing: none };
    const enclosing =
      key.kind === "range" ? this.#ofPrefix(key.version, key.first, key.prefixLength - 1) : this.#ofWildcard(key.name);
    return { same: this.#at(key.text) ?? none, enclosing };
  }

  /** The entries of the longest wildcard for the parent domains of a name. */
  #ofWildcard(name: string): Entries {
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      const entries = this.#at(wildcardKey(name.slice(dot + 1)));
      if (entries !== undefined) return entries;
    }
    return none;
  }

  /** The entries of the longest prefix that contains an IP address and does not exceed a length. */
  #ofPrefix(version: IpVersion, bits: bigint, longest: number): Entries {
    for (const length of this.#parts.lengths[version]) {
      if (length > longest) continue;
      const entries = this.#at(rangeKey(version, bits, length));
      if (entries !== undefined) return entries;
    }
    return none;
  }

  /** Undefined if no resource has the address. */
  #at(key: string): Entries | undefined {
    const { changed, base, resources } = this.#parts;
    const entries = changed.get(key);
    if (entries === undefined) return base.find(key, resources);
    return entries.length === 0 ? undefined : entries;
  }
}

/** The entries at an address of a resource. */
export interface AddressEntries {
  /** The entries with exactly this address, in the order in which their resources were created. */
  readonly same: Entries;
  /** The entries of the smallest larger block, or of the longest other wildcard, that contains the address. */
  readonly enclosing: Entries;
}

/** Collects the lengths of prefixes. A length that no resource has any more is retained, as it only costs a lookup. */
class CollectedLengths {
  readonly #lengths: Readonly<Record<IpVersion, Set<number>>>;

  constructor(known: PrefixLengths) {
    this.#lengths = { 4: new Set(known[4]), 6: new Set(known[6]) };
  }

  add(key: AddressKey): true {
    if (key.kind === "range") this.#lengths[key.version].add(key.prefixLength);
    return true;
  }

  sorted(): PrefixLengths {
    const sorted = (version: IpVersion) => [...this.#lengths[version]].sort((one, other) => other - one);
    return { 4: sorted(4), 6: sorted(6) };
  }
}

function* copying(entries: ReadonlyMap<string, Entries>): Work<Map<string, Entries>> {
  const copy = new Map<string, Entries>();
  for (const [key, value] of entries) {
    copy.set(key, value);
    if (copy.size % entriesAtOnce === 0) yield entriesAtOnce * entryCost;
  }
  return copy;
}

function* without(ids: ReadonlySet<string>, entries: Entries): Work<Entries> {
  if (ids.size === 0) return entries;
  const remaining: AddressEntry[] = [];
  yield* forEach(entries, entryCost, (entry) => {
    if (!ids.has(entry.resourceId)) remaining.push(entry);
  });
  return remaining;
}

/** Ids are UUIDv7, so this is the order of creation. */
function inOrderOfIds(one: AddressEntry, other: AddressEntry): number {
  if (one.resourceId === other.resourceId) return 0;
  return one.resourceId < other.resourceId ? -1 : 1;
}
