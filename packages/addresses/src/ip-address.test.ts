import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it, test } from "vitest";
import { formatIpAddress, type IpAddress, parseIpAddress } from "./ip-address.ts";

const ipv6Bits = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
  // Random bits hardly ever have zero groups; the canonical form is all about those.
  fc
    .array(fc.constantFrom<bigint>(0n, 0n, 1n, 0xffn, 0xffffn), { minLength: 8, maxLength: 8 })
    .map((groups) => groups.reduce((bits, group) => (bits << 16n) | group, 0n)),
);

function text(address: string): string | undefined {
  const parsed = parseIpAddress(address);
  return parsed === undefined ? undefined : formatIpAddress(parsed);
}

describe("reads and writes canonically", () => {
  test.each([
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["192.0.2.1", "192.0.2.1"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:0db8::0001", "2001:db8::1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["1:0:0:2:2:0:0:3", "1::2:2:0:0:3"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["::192.0.2.1", "::c000:201"],
    ["1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:c000:201"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:c000:201", "192.0.2.1"],
  ])("%s → %s", (written, canonical) => {
    expect(text(written)).toBe(canonical);
  });
});

describe("refuses what is not strictly an address", () => {
  test.each([
    "",
    " ",
    "192.0.2",
    "192.0.2.1.1",
    "192.0.2.256",
    "192.0.2.-1",
    "192.0.2.+1",
    "192.0.2.1 ",
    "192.0.2.01",
    "0300.0.2.1",
    "0xc0.0.2.1",
    "3221225985",
    "192.0.513",
    "192.0.2.",
    ".192.0.2.1",
    "192.0.2.1e0",
    "١.٠.٠.١",
    ":",
    ":::",
    ":1",
    "1:",
    "1:::2",
    "::1::",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1::2:3:4:5:6:7:8",
    "::1:2:3:4:5:6:7:8",
    "00001::",
    "g::",
    "fe80::1%eth0",
    "[::1]",
    "::ffff:192.0.2",
    "::ffff:192.0.2.01",
    "192.0.2.1::",
    "1:2:3:4:5:6:7:192.0.2.1",
    "2001:db8::1/64",
    "0x1::",
    "-1::",
  ])("%j", (written) => {
    expect(parseIpAddress(written)).toBeUndefined();
  });
});

it("reads back every address that it writes", () => {
  const address = fc.oneof(
    fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((bits): IpAddress => ({ version: 4, bits })),
    ipv6Bits.filter((bits) => bits >> 32n !== 0xffffn).map((bits): IpAddress => ({ version: 6, bits })),
  );
  fc.assert(
    fc.property(address, (given) => {
      expect(parseIpAddress(formatIpAddress(given))).toEqual(given);
    }),
  );
});

it("writes IPv6 as another implementation of RFC 5952 does", () => {
  fc.assert(
    fc.property(ipv6Bits, (bits) => {
      const bytes = Array.from({ length: 16 }, (_, index) => Number((bits >> BigInt(120 - 8 * index)) & 0xffn));
      expect(formatIpAddress({ version: 6, bits })).toBe(new ipaddr.IPv6(bytes).toRFC5952String());
    }),
  );
});

it("never throws, and reads nothing that another implementation refuses", () => {
  const characters = fc.constantFrom(..."0123456789abcfF:.:.%/x ");
  fc.assert(
    fc.property(fc.string({ unit: characters, maxLength: 50 }), (written) => {
      if (parseIpAddress(written) !== undefined) expect(ipaddr.isValid(written)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
