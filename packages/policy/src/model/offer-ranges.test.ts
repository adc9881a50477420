import fc from "fast-check";
import { expect, test } from "vitest";
import { finish } from "../work.ts";
import type { Offer } from "./address-offers.ts";
import { findingOverlaps, OfferRanges } from "./offer-ranges.ts";

const offer = (first: number, last = first, protocol: "TCP" | "UDP" = "TCP") => ({ protocol, first, last });

test.each([
  ["a port of a range", [offer(1, 100)], offer(100), true],
  ["a range around all", [offer(20), offer(22)], offer(1, 65_535), true],
  ["a port between ranges", [offer(1, 20), offer(22, 30)], offer(21), false],
  ["a port of the longer of two ranges", [offer(1, 100), offer(2, 3)], offer(50), true],
  ["a port after all ranges", [offer(30), offer(1, 20)], offer(31), false],
  ["the port of another protocol", [offer(53, 53, "UDP")], offer(53), false],
])("%s", (_name, ranges, asked, meets) => {
  expect(new OfferRanges(ranges).meet([asked])).toBe(meets);
});

test.each([
  ["a port of a range", [offer(1, 100)], [offer(100)], true],
  ["a range over adjacent ranges", [offer(21, 30), offer(1, 20)], [offer(1, 30)], true],
  ["a range over a gap", [offer(1, 20), offer(22, 30)], [offer(20, 22)], false],
  ["the longer of two ranges", [offer(1, 100), offer(2, 3)], [offer(50), offer(1, 101)], false],
  ["the port of another protocol", [offer(53, 53, "UDP")], [offer(53)], false],
  ["nothing", [], [], true],
])("covers %s", (_name, ranges, asked, covers) => {
  expect(new OfferRanges(ranges).cover(asked)).toBe(covers);
});

test("comparing the offers of two addresses takes few steps for each of them", () => {
  const count = 10_000;
  let steps = 0;
  const counted = Array.from({ length: count }, (_, index) => ({
    protocol: "TCP" as const,
    get first() {
      steps += 1;
      return 1 + 2 * index;
    },
    get last() {
      steps += 1;
      return 1 + 2 * index;
    },
  }));
  expect(new OfferRanges(counted).cover(counted)).toBe(true);
  expect(steps).toBeLessThan(40 * count);
});

const anyOffer = fc
  .record({ protocol: fc.constantFrom("TCP" as const, "UDP" as const), first: fc.nat(60), length: fc.nat(8) })
  .map(({ protocol, first, length }): Offer => ({ protocol, first, last: first + length }));

/** Some entries have the same lists. */
const entriesWithLists = fc
  .array(fc.array(anyOffer, { maxLength: 3 }), { maxLength: 8 })
  .chain((lists) => fc.array(fc.subarray(lists), { maxLength: 12 }))
  .map((all) => all.map((offers, index) => ({ resourceId: `r${index}`, offers })));

test("finds the resources that share a protocol and port with another one", () => {
  fc.assert(
    fc.property(entriesWithLists, (entries) => {
      const overlapping = entries.filter((entry) =>
        entries.some((other) => other !== entry && new OfferRanges(other.offers.flat()).meet(entry.offers.flat())),
      );
      expect([...finish(findingOverlaps(entries))].sort()).toEqual(
        overlapping.map(({ resourceId }) => resourceId).sort(),
      );
    }),
    { numRuns: 2_000 },
  );
});
