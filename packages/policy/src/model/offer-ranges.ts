import type { Offer } from "./address-offers.ts";
import type { TransportProtocol } from "./facts.ts";

interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The services of a resource at an address, sorted so that each look-up takes few steps. An entry can have 10,000. */
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
