import { sortingBy } from "../sorting.ts";
import { entryCost, forEach, type Work } from "../work.ts";
import type { Entries, Offer } from "./address-offers.ts";
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

interface OwnedOffer extends Offer {
  readonly resourceId: string;
}

/** Finds the resources with a protocol and port that others of these resources offer too, in n log n steps. */
export function* findingMeeting(entries: Entries): Work<ReadonlySet<string>> {
  const meeting = new Set<string>();
  /** The offers with the highest last ports, of two resources for each protocol. */
  const highest = new Map<TransportProtocol, readonly OwnedOffer[]>();
  const offers = yield* sortingBy((one, other) => one.first - other.first, ownedOffers(entries));
  yield* forEach(offers, entryCost, (offer) => {
    const known = highest.get(offer.protocol) ?? [];
    const others = known.filter(({ resourceId }) => resourceId !== offer.resourceId);
    // All earlier offers that contain the first port meet each other, so they were found before.
    for (const { resourceId, last } of others) {
      if (last >= offer.first) meeting.add(resourceId).add(offer.resourceId);
    }
    const own = known.find(({ resourceId }) => resourceId === offer.resourceId);
    const higher = own !== undefined && own.last > offer.last ? own : offer;
    const sorted = [...others, higher].sort((one, other) => other.last - one.last);
    highest.set(offer.protocol, sorted.slice(0, 2));
  });
  return meeting;
}

function* ownedOffers(entries: Entries): Iterable<OwnedOffer> {
  for (const { resourceId, offers } of entries) for (const offer of offers) yield { ...offer, resourceId };
}
