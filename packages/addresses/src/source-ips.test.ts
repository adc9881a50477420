import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { formatIpAddress, type IpVersion } from "./ip-address.ts";
import { formatIpRange, type IpRange, rangeContains } from "./ip-ranges.ts";
import { compileSourceIps, sourceIpsContain } from "./source-ips.ts";

describe("a list of addresses and blocks", () => {
  const office = compileSourceIps(["192.0.2.0/25", "192.0.2.64/26", "198.51.100.7", "2001:db8::/32", "fe80::/10"]);

  test.each([
    ["192.0.2.0", true],
    ["192.0.2.127", true],
    ["192.0.2.128", false],
    ["198.51.100.7", true],
    ["198.51.100.8", false],
    ["::ffff:198.51.100.7", true],
    ["::ffff:c633:6407", true],
    ["2001:db8:ffff::1", true],
    ["2001:db9::", false],
    ["fe80::1%eth0", true],
    ["::", false],
    ["", false],
    ["not an address", false],
    ["192.0.2.1/32", false],
  ])("contains %s: %s", (ip, expected) => {
    expect(sourceIpsContain(office, ip)).toBe(expected);
  });

  it("is empty when nothing is listed", () => {
    expect(sourceIpsContain(compileSourceIps([]), "192.0.2.1")).toBe(false);
  });

  it("does not take all of IPv6 for IPv4 too", () => {
    expect(sourceIpsContain(compileSourceIps(["::/0"]), "::ffff:192.0.2.1")).toBe(false);
    expect(sourceIpsContain(compileSourceIps(["0.0.0.0/0"]), "::ffff:192.0.2.1")).toBe(true);
  });

  it("refuses to be compiled with a text that is no address", () => {
    expect(() => compileSourceIps(["192.0.2.0/25", "office"])).toThrow(RangeError);
  });
});

it("contains exactly what some range of the list contains", () => {
  const bits = (version: IpVersion) => fc.bigInt({ min: 0n, max: 300n }).map((low) => ({ version, bits: low }));
  const address = fc.oneof(bits(4), bits(6));
  const range = fc
    .tuple(address, fc.integer({ min: 0, max: 10 }))
    .map(([{ version, bits: low }, hostBits]): IpRange => {
      const shift = BigInt(hostBits);
      return { version, first: (low >> shift) << shift, prefixLength: (version === 4 ? 32 : 128) - hostBits };
    });
  fc.assert(
    fc.property(fc.array(range, { maxLength: 12 }), address, (ranges, asked) => {
      const only: IpRange = { version: asked.version, first: asked.bits, prefixLength: asked.version === 4 ? 32 : 128 };
      const naive = ranges.some((listed) => rangeContains(listed, only));
      expect(sourceIpsContain(compileSourceIps(ranges.map(formatIpRange)), formatIpAddress(asked))).toBe(naive);
    }),
    { numRuns: 500 },
  );
});
