import { sortingBy } from "../sorting.ts";
import { entryCost, forEach, type Work } from "../work.ts";
import type { AddressEntry, Entries, Offer, OfferList } from "./address-offers.ts";
import type { TransportProtocol } from "./facts.ts";

interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The services of a resource at an address, sorted so that each lookup takes few steps. An entry can have 10,000. */
export class OfferRanges {
  /** The ranges of ports by protocol, in ascending order, without overlaps. */
  readonly #ranges = new Map<TransportProtocol, PortRange[]>();

  constructor(offers: readonly Offer[]) {
    for (const { protocol, first, last } of [...offers].sort((one, other) => one.first - other.first)) {
      const ranges = this.#ranges.get(protocol) ?? [];
      if (ranges.length === 0) this.#ranges.set(protocol, ranges);
      const previous = ranges.at(-1);
      // Adjacent ranges are one range.
      if (previous === undefined || first > previous.last + 1) ranges.push({ first, last });
      else if (last > previous.last) ranges[ranges.length - 1] = { first: previous.first, last };
    }
  }

  /** Whether any of these offers has a protocol and port of the ranges. */
  meet(offers: readonly Offer[]): boolean {
    return offers.some((offer) => {
      const range = this.#firstFrom(offer);
      return range !== undefined && range.first <= offer.last;
    });
  }

  /** Whether each protocol and port of these offers is in the ranges. */
  cover(offers: readonly Offer[]): boolean {
    return offers.every((offer) => {
      const range = this.#firstFrom(offer);
      return range !== undefined && range.first <= offer.first && offer.last <= range.last;
    });
  }

  /** The first range that does not end before the offer. */
  #firstFrom({ protocol, first }: Offer): PortRange | undefined {
    const ranges = this.#ranges.get(protocol) ?? [];
    let low = 0;
    for (let high = ranges.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((ranges[middle]?.last ?? 0) < first) low = middle + 1;
      else high = middle;
    }
    return ranges[low];
  }
}

/** An offer of a list, with the only resource that has the list. Undefined if several resources have it. */
interface OwnedOffer extends Offer {
  readonly list: OfferList;
  readonly resourceId: string | undefined;
}

/**
 * Finds the resources that share a protocol and port with another one. Takes n log n steps for the ports of different
 * lists, although many resources can have the same list.
 */
export function* findingOverlaps(entries: Entries): Work<ReadonlySet<string>> {
  const overlapping = new Set<string>();
  const owners = yield* findingOwners(entries);
  // Resources with a common list overlap.
  const costOf = ({ offers }: AddressEntry) => entryCost * (1 + offers.length);
  yield* forEach(entries, costOf, ({ resourceId, offers }) => {
    if (offers.some((list) => list.length > 0 && owners.get(list) === several)) overlapping.add(resourceId);
  });
  /** The offers with the highest last ports, of two owners for each protocol. */
  const highest = new Map<TransportProtocol, readonly OwnedOffer[]>();
  const offers = yield* sortingBy((one, other) => one.first - other.first, ownedOffers(owners));
  yield* forEach(offers, entryCost, (offer) => {
    const known = highest.get(offer.protocol) ?? [];
    const others = known.filter((other) => ownerOf(other) !== ownerOf(offer));
    // All earlier offers that contain the first port overlap, so they were found before.
    for (const { resourceId, last } of others) {
      if (last < offer.first) continue;
      for (const id of [resourceId, offer.resourceId]) if (id !== undefined) overlapping.add(id);
    }
    const own = known.find((other) => ownerOf(other) === ownerOf(offer));
    const higher = own !== undefined && own.last > offer.last ? own : offer;
    const sorted = [...others, higher].sort((one, other) => other.last - one.last);
    highest.set(offer.protocol, sorted.slice(0, 2));
  });
  return overlapping;
}

const several = Symbol("several resources");

/** Maps each list to its only resource, or to `several`. */
function* findingOwners(entries: Entries): Work<ReadonlyMap<OfferList, string | typeof several>> {
  const owners = new Map<OfferList, string | typeof several>();
  const costOf = ({ offers }: AddressEntry) => entryCost * (1 + offers.length);
  yield* forEach(entries, costOf, ({ resourceId, offers }) => {
    for (const list of offers) {
      const known = owners.get(list);
      owners.set(list, known === undefined || known === resourceId ? resourceId : several);
    }
  });
  return owners;
}

function ownerOf({ resourceId, list }: OwnedOffer): string | OfferList {
  return resourceId ?? list;
}

function* ownedOffers(owners: ReadonlyMap<OfferList, string | typeof several>): Iterable<OwnedOffer> {
  for (const [list, owner] of owners) {
    const resourceId = owner === several ? undefined : owner;
    for (const offer of list) yield { ...offer, list, resourceId };
  }
}
