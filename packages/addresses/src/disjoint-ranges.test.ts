import fc from "fast-check";
import { expect, test } from "vitest";
import { blockCheck, disjointRanges } from "./disjoint-ranges.ts";
import { formatIpAddress } from "./ip-address.ts";
import { type IpBlock, parseIpBlock } from "./ip-block.ts";

/** Prefixes of a small part of the address space, so that they often nest. */
const blocks = fc.uniqueArray(
  fc.tuple(fc.integer({ min: 24, max: 32 }), fc.integer({ min: 0, max: 255 })).map(([length, host]) => {
    const first = (BigInt(host) >> BigInt(32 - length)) << BigInt(32 - length);
    return `10.0.0.${first}/${length}`;
  }),
  { maxLength: 12 },
);

test("each address is in the range of its longest prefix, and in no other", () => {
  fc.assert(
    fc.property(blocks, (texts) => {
      const given = texts.map((text) => ({ block: parseIpBlock(text) as IpBlock, value: text }));
      const ranges = disjointRanges(given);
      for (let host = 0n; host < 256n; host++) {
        const address = (10n << 24n) + host;
        const holding = given.filter(({ block }) => block.first <= address && address <= block.last);
        const [longest] = holding.sort((left, right) => right.block.prefixLength - left.block.prefixLength);
        const found = ranges.filter(({ first, last }) => first <= address && address <= last);
        expect(found.map(({ value }) => value)).toEqual(longest === undefined ? [] : [longest.value]);
      }
    }),
  );
});

test.each(["192.0.2.1", "2001:db8::1", "::", "::ffff:192.0.2.1", "fe80::1:2"])(
  "%s is read and written as itself",
  (text) => {
    const block = parseIpBlock(text);
    expect(block).toBeDefined();
    const again = parseIpBlock(formatIpAddress({ version: block?.family ?? 4, bits: block?.first ?? 0n }));
    expect(again).toEqual(block);
  },
);

test.each(["192.0.2.1/33", "192.0.2.1/24", "192.0.2", "192.0.2.1/024", "fe80::1%eth0", "x", "", "192.0.2.0/24/1"])(
  "%j is not a block",
  (text) => {
    expect(parseIpBlock(text)).toBeUndefined();
  },
);

test("an address is in the blocks exactly if one of them contains it", () => {
  fc.assert(
    fc.property(blocks, (texts) => {
      const isInBlocks = blockCheck([...texts, ...texts, "fd00::/126", "no block"]);
      const parsed = texts.map((text) => parseIpBlock(text) as IpBlock);
      for (let host = 0n; host < 256n; host++) {
        const bits = (10n << 24n) + host;
        const text = formatIpAddress({ version: 4, bits });
        expect(isInBlocks(text)).toBe(parsed.some(({ first, last }) => first <= bits && bits <= last));
      }
      const others = ["fd00::3", "fd00::4", "::ffff:10.0.0.1", "no address"];
      expect(others.map(isInBlocks)).toEqual([true, false, false, false]);
    }),
  );
});
