import { formatIpRange, type IpRange, parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import fc from "fast-check";
import { expect, test } from "vitest";
import { commonRanges } from "./common-ranges.ts";

function parse(text: string): IpRange {
  const reading = parseIpRange(text);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.value;
}
const common = (...lists: readonly (readonly string[])[]) =>
  commonRanges(lists.map((list) => list.map(parse))).map(formatIpRange);

test.each<readonly [string, readonly (readonly string[])[], readonly string[]]>([
  ["one list, without blocks in others", [["10.1.0.0/16", "10.0.0.0/8", "10.1.2.0/24"]], ["10.0.0.0/8"]],
  ["one list, without repetitions", [["10.0.0.0/8", "10.0.0.0/8"]], ["10.0.0.0/8"]],
  ["equal lists", [["10.0.0.0/8"], ["10.0.0.0/8"]], ["10.0.0.0/8"]],
  ["the same address and different prefixes", [["10.0.0.0/8"], ["10.0.0.0/24"], ["10.0.0.0/16"]], ["10.0.0.0/24"]],
  ["two versions", [["0.0.0.0/0"], ["::/0"]], []],
  ["a list without blocks", [["0.0.0.0/0"], []], []],
  ["a repeated block and another list", [["10.0.0.0/8", "10.0.0.0/8"], ["192.168.0.0/16"]], []],
])("finds the common ranges of %s", (_, lists, expected) => {
  expect(common(...lists)).toEqual(expected);
});

/** Blocks in the same few addresses, so that they often nest. */
const block = fc.tuple(fc.constantFrom<4 | 6>(4, 6), fc.nat(15), fc.nat(4)).map(([version, address, bits]): IpRange => {
  const hostBits = BigInt(4 - bits);
  const first = (BigInt(address) >> hostBits) << hostBits;
  return { version, first, prefixLength: (version === 4 ? 28 : 124) + bits };
});

test("an address is in the common ranges if it is in every list, and no range contains another", () => {
  fc.assert(
    fc.property(fc.array(fc.array(block, { maxLength: 8 }), { minLength: 1, maxLength: 4 }), (lists) => {
      const result = commonRanges(lists);
      for (const version of [4, 6] as const) {
        for (let first = 0n; first < 16n; first += 1n) {
          const address: IpRange = { version, first, prefixLength: version === 4 ? 32 : 128 };
          const isIn = (ranges: readonly IpRange[]) => ranges.some((range) => rangeContains(range, address));
          expect(isIn(result)).toBe(lists.every(isIn));
          expect(result.filter((range) => rangeContains(range, address)).length).toBeLessThanOrEqual(1);
        }
      }
      expect(result.length).toBeLessThanOrEqual(lists.flat().length);
    }),
  );
});
