import fc from "fast-check";
import { expect, test } from "vitest";
import { disjointRanges } from "./disjoint-ranges.ts";
import { formatAddress, type IpBlock, parseIpBlock } from "./ip-block.ts";

/** Prefixes of a small part of the addresses, so that they often hold each other. */
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
    const again = parseIpBlock(formatAddress(block?.family ?? 4, block?.first ?? 0n));
    expect(again).toEqual(block);
  },
);

test.each(["192.0.2.1/33", "192.0.2.1/24", "192.0.2", "192.0.2.1/024", "fe80::1%eth0", "x", "", "192.0.2.0/24/1"])(
  "%j is no block",
  (text) => {
    expect(parseIpBlock(text)).toBeUndefined();
  },
);
