/**
 * Finds resources by address. An address needs about 36 bytes here, and its text is that of the resource.
 */
import { sortingBy } from "../sorting.ts";
import {
  copyCost,
  entriesAtOnce,
  entryCost,
  finish,
  forEach,
  recordCost,
  recordsAtOnce,
  type Work,
  yieldAfter,
} from "../work.ts";
import { type AddressKey, addressKeyOf } from "./address-key.ts";
import { type AddressEntry, type Entries, OfferIndex, offersIn } from "./address-offers.ts";
import type { CompiledResource } from "./compiled-resource.ts";
import type { AddressFacts } from "./facts.ts";
import { grown, IdColumn } from "./id-column.ts";
import { RecentValues } from "./recent-values.ts";
import type { Table } from "./table.ts";

type Resources = Pick<Table<CompiledResource>, "get">;

/** The minimum number of addresses whose entries are retained. */
const retainedAddresses = 10_000;
/** The most resources that are read to find the entries at an address. Resources with large rows count as several. */
const mostScanned = 64;
/** The references to lists of protocols in entries that need about as much memory as an ordinary entry. */
const referencesOfWeight = 16;
/** The most slots that are read before work yields. */
const slotsAtOnce = yieldAfter / copyCost;

/** An address of a resource. */
export interface FoundAddress {
  readonly resourceId: string;
  readonly position: number;
  readonly facts: AddressFacts;
}

/** Addresses that are added one by one, before they are indexed. */
export class AddressColumns {
  readonly ids = new IdColumn();
  hashes = new Uint32Array(16);
  /** The positions of the addresses in the lists of their resources. */
  positions = new Uint32Array(16);
  /** The weights of the resources, up to `mostScanned`. */
  weights = new Uint8Array(16);

  get size(): number {
    return this.ids.size;
  }

  /** Adds an address of another list. */
  addFrom({ hashes, positions, weights, ids }: AddressColumns, index: number): void {
    this.#add(hashes[index] ?? 0, positions[index] ?? 0, weights[index] ?? 0);
    this.ids.addFrom(ids, index);
  }

  /** Adds the addresses of a resource whose keys meet a condition. */
  addAll({ id, weight, facts }: CompiledResource, condition: (key: AddressKey) => boolean): void {
    for (const [position, { address }] of facts.addresses.entries()) {
      const key = addressKeyOf(address);
      if (key === undefined || !condition(key)) continue;
      this.#add(hashOf(key.text), position, Math.min(weight, mostScanned));
      this.ids.add(id);
    }
  }

  /** Undefined if the resource has lost the address. */
  addressAt(index: number, resources: Resources): FoundAddress | undefined {
    const [resourceId, position] = [this.ids.at(index), this.positions[index] ?? 0];
    const facts = resources.get(resourceId)?.facts.addresses[position];
    return facts === undefined ? undefined : { resourceId, position, facts };
  }

  /** The cost of `addressAt`, which creates the facts of the resource. */
  costAt(index: number, resources: Resources): number {
    return recordCost + (resources.get(this.ids.at(index))?.decodingCost ?? 0);
  }

  #add(hash: number, position: number, weight: number): void {
    if (this.size === this.hashes.length) {
      this.hashes = grown(this.hashes);
      this.positions = grown(this.positions);
      const weights = new Uint8Array(this.hashes.length);
      weights.set(this.weights);
      this.weights = weights;
    }
    this.hashes[this.size] = hash;
    this.positions[this.size] = position;
    this.weights[this.size] = weight;
  }
}

/** An immutable index. Its addresses stay valid for resources that have not changed since it was built. */
export class PackedAddresses {
  readonly #columns: AddressColumns;
  /** The number of the last address plus one, for each hash slot; 0 if none. */
  readonly #heads: Uint32Array;
  /** The previous address in the slot of each address, in the same form. */
  readonly #previous: Uint32Array;
  /** The entries at addresses that many resources have, or whose hash many addresses have. They are not in `#heads`. */
  readonly #crowded: ReadonlyMap<string, Entries>;
  readonly #recent = new RecentValues<Entries>(retainedAddresses, weightOf);

  private constructor(
    columns: AddressColumns,
    heads: Uint32Array,
    previous: Uint32Array,
    crowded: ReadonlyMap<string, Entries>,
  ) {
    this.#columns = columns;
    this.#heads = heads;
    this.#previous = previous;
    this.#crowded = crowded;
  }

  /**
   * Builds an index, as work that can be suspended between some addresses.
   *
   * @param columns must not change afterwards
   */
  static *indexing(columns: AddressColumns, resources: Resources): Work<PackedAddresses> {
    const { size, hashes, weights } = columns;
    const heads = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(8, size))));
    const previous = new Uint32Array(size);
    const counts = new Uint8Array(heads.length);
    for (let index = 0; index < size; index += 1) {
      const slot = (hashes[index] ?? 0) & (heads.length - 1);
      previous[index] = heads[slot] ?? 0;
      heads[slot] = index + 1;
      counts[slot] = Math.min((counts[slot] ?? 0) + (weights[index] ?? 0), mostScanned + 1);
      if (index % entriesAtOnce === entriesAtOnce - 1) yield entriesAtOnce * entryCost;
    }
    const crowded = new Map<string, FoundAddress[]>();
    for (let slot = 0; slot < counts.length; slot += 1) {
      if (slot % slotsAtOnce === slotsAtOnce - 1) yield slotsAtOnce * copyCost;
      if ((counts[slot] ?? 0) <= mostScanned) continue;
      for (let next = heads[slot] ?? 0; next !== 0; next = previous[next - 1] ?? 0) {
        yield columns.costAt(next - 1, resources);
        const found = columns.addressAt(next - 1, resources);
        const key = found === undefined ? undefined : addressKeyOf(found.facts.address)?.text;
        if (found === undefined || key === undefined) continue;
        const list = crowded.get(key);
        if (list === undefined) crowded.set(key, [found]);
        else list.push(found);
      }
      heads[slot] = 0;
    }
    const entries = new Map<string, Entries>();
    for (const [key, found] of crowded) {
      entries.set(key, yield* OfferIndex.indexing(yield* findingEntries(found)));
    }
    return new PackedAddresses(columns, heads, previous, entries);
  }

  get size(): number {
    return this.#columns.size;
  }

  /**
   * Finds the entries at an address.
   *
   * @param key of an address that no resource lost or received since the index was built
   */
  find(key: string, resources: Resources): Entries | undefined {
    const known = this.#crowded.get(key) ?? this.#recent.get(key);
    if (known !== undefined) return known;
    const hash = hashOf(key);
    const { hashes } = this.#columns;
    const addresses: FoundAddress[] = [];
    for (
      let next = this.#heads[hash & (this.#heads.length - 1)] ?? 0;
      next !== 0;
      next = this.#previous[next - 1] ?? 0
    ) {
      if (hashes[next - 1] !== hash) continue;
      const address = this.#columns.addressAt(next - 1, resources);
      if (address !== undefined && addressKeyOf(address.facts.address)?.text === key) addresses.push(address);
    }
    if (addresses.length === 0) return undefined;
    const entries = finish(findingEntries(addresses));
    this.#recent.set(key, entries);
    return entries;
  }

  /**
   * The index after changes.
   *
   * @param changed the entries of all addresses that resources lost or received, by key
   * @param resources after the changes
   */
  *changing(changed: ReadonlyMap<string, Entries>, resources: Resources): Work<PackedAddresses> {
    const changedHashes = new Set<number>();
    const changedIds = new Set<string>();
    let unpaid = 0;
    for (const [key, entries] of changed) {
      changedHashes.add(hashOf(key));
      yield* forEach(entries, entryCost, ({ resourceId }) => changedIds.add(resourceId));
      unpaid += entryCost;
      if (unpaid < yieldAfter) continue;
      yield unpaid;
      unpaid = 0;
    }
    const columns = new AddressColumns();
    const { hashes, size } = this.#columns;
    for (let index = 0; index < size; index += 1) {
      const mayBeChanged = changedHashes.has(hashes[index] ?? 0);
      const cost = mayBeChanged ? this.#columns.costAt(index, resources) : copiedCost;
      if (!mayBeChanged || isUnchanged(this.#columns.addressAt(index, resources), changed)) {
        columns.addFrom(this.#columns, index);
      }
      unpaid += cost;
      if (unpaid < yieldAfter) continue;
      yield unpaid;
      unpaid = 0;
    }
    yield unpaid;
    unpaid = 0;
    for (const id of changedIds) {
      const resource = resources.get(id);
      if (resource === undefined) continue;
      unpaid += resource.decodingCost;
      columns.addAll(resource, ({ text }) => changed.has(text));
      unpaid += resource.facts.addresses.length * recordCost;
      if (unpaid < recordsAtOnce * recordCost) continue;
      yield unpaid;
      unpaid = 0;
    }
    return yield* PackedAddresses.indexing(columns, resources);
  }
}

/** The cost of copying an address. */
const copiedCost = 2 * entryCost;

/** Whether an address belongs to the same resource as before. All addresses of changed resources are changed. */
function isUnchanged(found: FoundAddress | undefined, changed: ReadonlyMap<string, Entries>): boolean {
  const key = found === undefined ? undefined : addressKeyOf(found.facts.address)?.text;
  return key !== undefined && !changed.has(key);
}

/** The entries of all addresses with one key, as work that can be suspended between some of them. */
export function* findingEntries(addresses: readonly FoundAddress[]): Work<Entries> {
  const entries: AddressEntry[] = [];
  const costOf = ({ facts }: FoundAddress) => entryCost * (1 + facts.protocols.length);
  yield* forEach(yield* sortingBy(inOrderOfCreation, addresses), costOf, ({ resourceId, facts }) => {
    addOffers(entries, resourceId, offersIn(facts.protocols));
  });
  return entries;
}

function weightOf(entries: Entries): number {
  const references = entries.reduce((sum, { offers }) => sum + 1 + offers.length, 0);
  return 1 + Math.floor(references / referencesOfWeight);
}

/** Ids are UUIDv7, so this is the order of creation. */
function inOrderOfCreation(one: FoundAddress, other: FoundAddress): number {
  if (one.resourceId === other.resourceId) return one.position - other.position;
  return one.resourceId < other.resourceId ? -1 : 1;
}

/** Adds offers to the last entry if it belongs to the same resource: it may list one address in two notations. */
function addOffers(entries: AddressEntry[], resourceId: string, offers: AddressEntry["offers"]): void {
  const last = entries.at(-1);
  if (last?.resourceId !== resourceId) entries.push({ resourceId, offers });
  else entries[entries.length - 1] = { resourceId, offers: [...last.offers, ...offers] };
}

/** FNV-1a. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
