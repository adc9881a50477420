import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { addressWidth, type IpVersion } from "./ip-address.ts";
import { formatIpRange, type IpRange, lastAddressOf, parseIpRange, rangeContains, rangesOverlap } from "./ip-ranges.ts";

function range(text: string): IpRange {
  const reading = parseIpRange(text);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.value;
}

/** Few distinct bits, so that containment and overlap happen often. */
const anyRange = fc
  .record({
    version: fc.constantFrom<IpVersion>(4, 6),
    bits: fc.constantFrom(0n, 1n, 2n, 3n, 1n << 31n, (1n << 31n) + 5n, (1n << 32n) - 1n),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ version, bits, share }): IpRange => {
    const width = addressWidth(version);
    const prefixLength = Math.round(share * width);
    const hostBits = BigInt(width - prefixLength);
    return { version, first: (bits >> hostBits) << hostBits, prefixLength };
  });

describe("reads ranges", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1/32"],
    ["192.0.2.1/32", "192.0.2.1/32"],
    ["192.0.2.0/24", "192.0.2.0/24"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["2001:DB8::/32", "2001:db8::/32"],
    ["2001:db8::1", "2001:db8::1/128"],
    ["::/0", "::/0"],
    ["::ffff:192.0.2.0/120", "192.0.2.0/24"],
    ["::ffff:0:0/96", "0.0.0.0/0"],
    ["::fffe:0:0/95", "::fffe:0:0/95"],
  ])("%s as %s", (written, canonical) => {
    expect(formatIpRange(range(written))).toBe(canonical);
  });
});

describe("refuses with what to do", () => {
  test.each([
    ["192.0.2.7/24", "Write 192.0.2.0/24 for the network, or 192.0.2.7 for the one address."],
    ["2001:db8::1/64", "Write 2001:db8::/64 for the network, or 2001:db8::1 for the one address."],
    ["::ffff:192.0.2.7/120", "Write 192.0.2.0/24 for the network, or 192.0.2.7 for the one address."],
    ["192.0.2.0/33", "0 to 32"],
    ["2001:db8::/129", "0 to 128"],
    ["192.0.2.0/", "0 to 32"],
    ["192.0.2.0/024", "0 to 32"],
    ["192.0.2.0/ 24", "0 to 32"],
    ["192.0.2.0/24/24", "0 to 32"],
    ["192.0.2.0/255.255.255.0", "0 to 32"],
    ["192.0.2/24", "write all four numbers"],
    ["192.0.2.256", "from 0 to 255"],
    ["192.0.02.1", "without leading zeros"],
    ["2001:db8", "is not an IPv6 address"],
    ["fe80::1%eth0", "zone identifier"],
    ["example.com", "is not an IPv4 or IPv6 address"],
    ["", "is not an IPv4 or IPv6 address"],
    ["1".repeat(1000), "is too long"],
  ])("%j", (written, advice) => {
    const reading = parseIpRange(written);
    expect(reading.ok ? "accepted" : reading.problem).toContain(advice);
  });
});

it("reads back every range that it writes", () => {
  // Blocks in ::ffff:0:0/96 are written as the IPv6 text that reading turns into IPv4.
  const isMapped = ({ version, first, prefixLength }: IpRange) =>
    version === 6 && prefixLength >= 96 && first >> 32n === 0xffffn;
  fc.assert(
    fc.property(anyRange, (given) => {
      fc.pre(!isMapped(given));
      expect(range(formatIpRange(given))).toEqual(given);
    }),
  );
});

it("contains and overlaps exactly as intervals of integers do", () => {
  fc.assert(
    fc.property(anyRange, anyRange, (a, b) => {
      const sameVersion = a.version === b.version;
      const contains = sameVersion && a.first <= b.first && lastAddressOf(b) <= lastAddressOf(a);
      const overlaps = sameVersion && a.first <= lastAddressOf(b) && b.first <= lastAddressOf(a);
      expect(rangeContains(a, b)).toBe(contains);
      expect(rangesOverlap(a, b)).toBe(overlaps);
    }),
    { numRuns: 1000 },
  );
});
