import { expect, test } from "vitest";
import { OfferRanges } from "./offer-ranges.ts";

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
