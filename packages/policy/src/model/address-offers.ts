import { entriesAtOnce, entryCost, type Work } from "../work.ts";
import type { ResourceFacts, TransportProtocol } from "./facts.ts";
import { cachedByList, listsOf, type OfferedProtocols } from "./protocol-lists.ts";

/** A resource at an address, and the services that it offers there. */
export interface AddressEntry {
  readonly resourceId: string;
  /** One list for each protocol. Entries share the lists. */
  readonly offers: readonly OfferList[];
}

/** The entries at an address, in the order in which their resources were created. */
export type Entries = readonly AddressEntry[];

/** A transport protocol with its lowest and highest port. */
export interface Offer {
  readonly protocol: TransportProtocol;
  readonly first: number;
  readonly last: number;
}

export type OfferList = readonly Offer[];

/** Whether an entry offers a protocol and port. An undefined protocol or port matches every offer. */
export function isOffered(
  entry: AddressEntry,
  protocol: TransportProtocol | undefined,
  port: number | undefined,
): boolean {
  return protocol === undefined || entry.offers.some((list) => contains(list, protocol, port));
}

function contains(list: OfferList, protocol: TransportProtocol, port: number | undefined): boolean {
  return list.some(
    (offer) => offer.protocol === protocol && (port === undefined || (offer.first <= port && port <= offer.last)),
  );
}

/** The services that a resource offers at all of its addresses together. */
export function offersOf({ id, addresses }: ResourceFacts): AddressEntry {
  return { resourceId: id, offers: addresses.flatMap(({ protocols }) => offersIn(protocols)) };
}

export function offersIn(protocols: OfferedProtocols): readonly OfferList[] {
  return listsOf(protocols).map(offersOfList);
}

/** The number of offers of an entry. */
export function offerCount({ offers }: AddressEntry): number {
  return offers.reduce((sum, list) => sum + list.length, 0);
}

const offersOfList = cachedByList(
  (list): OfferList =>
    list.map(({ protocol, port }) => {
      if (port === undefined) return { protocol, first: 0, last: 65_535 };
      const [first = "", last = first] = port.split("-");
      return { protocol, first: Number(first), last: Number(last) };
    }),
);

/** Finds the first of many entries that offers a port. Each list is read once, although many entries can have it. */
export class OfferIndex {
  static readonly #known = new WeakMap<Entries, OfferIndex>();
  /** The first entry with each list. */
  readonly #first = new Map<OfferList, number>();

  /** Indexes the lists of entries if there are many entries. */
  static *indexing(entries: Entries): Work<Entries> {
    if (entries.length <= fewEntries) return entries;
    const index = new OfferIndex();
    let unpaid = 0;
    for (const [position, { offers }] of entries.entries()) {
      for (const list of offers) if (!index.#first.has(list)) index.#first.set(list, position);
      unpaid += 1 + offers.length;
      if (unpaid < entriesAtOnce) continue;
      yield unpaid * entryCost;
      unpaid = 0;
    }
    OfferIndex.#known.set(entries, index);
    return entries;
  }

  /** Undefined for few entries. */
  static of(entries: Entries): OfferIndex | undefined {
    return OfferIndex.#known.get(entries);
  }

  /** @returns the position of the first entry that offers the port; undefined if none offers it */
  firstOffering(protocol: TransportProtocol, port: number | undefined): number | undefined {
    let first: number | undefined;
    for (const [list, position] of this.#first) {
      if ((first === undefined || position < first) && contains(list, protocol, port)) first = position;
    }
    return first;
  }
}

/** The most entries whose offers are read one by one. */
const fewEntries = 64;
