import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { closedBlockOf, embeddedAddresses, isClosedTarget } from "./closed-targets.ts";
import { formatIpAddress } from "./ip-address.ts";
import { parseIpBlock } from "./ip-block.ts";
import { parseIpRange } from "./ip-ranges.ts";

describe("closed targets", () => {
  test.each([
    "0.0.0.0",
    "127.0.0.1",
    "169.254.169.254",
    "224.0.0.251",
    "255.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "168.63.129.16",
    "192.0.0.192",
    "::",
    "::1",
    "fe80::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd00:c1::a9fe:a9fe",
    "fd00:42::42",
    "fd00:a9fe:a9fe::1",
    "fd00:100::100:200",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a9fe:a9fe",
    "64:ff9b:1:a9fe:a9:fe00::",
    "64:ff9b:1:a9:fe:a9fe::",
    "64:ff9b:1:0:a9:fea9:fe00:0",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:1:2:3:4:8001:fffe",
    "2001:db8::5efe:127.0.0.1",
    "2001:db8::200:5efe:169.254.169.254",
    "fd00::5efe:a9fe:a9fe",
    "2002:a00:1::5efe:7f00:1",
  ])("include %s", (address) => {
    expect(isClosedTarget(address)).toBe(true);
  });

  test.each([
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "203.0.113.1",
    "8.8.8.8",
    "fc00::1",
    "fd80::11",
    "fd00:42::43",
    "2001:db8::1",
    "2606:4700::1",
    "64:ff9b::a00:1",
    "64:ff9b:1::a00:1",
    "64:ff9b:1:a00:0:100::",
    "2002:a00:1::1",
    "2001:db8::5efe:10.0.0.1",
    "2001:db8::100:5efe:127.0.0.1",
    "2001:db8::5eff:127.0.0.1",
  ])("exclude %s", (address) => {
    expect(isClosedTarget(address)).toBe(false);
  });

  test("include further blocks, and addresses that embed one of their addresses", () => {
    const more = [parseIpBlock("192.0.2.7/32"), parseIpBlock("fd80::1/128")].flatMap((block) => block ?? []);
    for (const address of ["192.0.2.7", "fd80::1", "fd80:0::1", "64:ff9b::c000:207", "2002:c000:207::5"]) {
      expect(isClosedTarget(address)).toBe(false);
      expect(isClosedTarget(address, more)).toBe(true);
    }
    expect(isClosedTarget("192.0.2.8", more)).toBe(false);
  });

  test("are read from each length of the local translation prefix", () => {
    const word = 0x64_ff9b_0001n << 80n;
    // Addresses in 0.0.0.0/8 are ambiguous on purpose, and those that end in zeros are valid for several lengths.
    const ipv4 = fc.bigInt({ min: 0x0100_0001n, max: 0xffff_ffffn }).filter((bits) => (bits & 0xffn) !== 0n);
    fc.assert(
      fc.property(ipv4, (bits) => {
        const forms = [
          bits,
          ((bits >> 16n) << 64n) | ((bits & 0xffffn) << 40n),
          ((bits >> 24n) << 64n) | ((bits & 0xff_ffffn) << 32n),
          bits << 24n,
        ];
        for (const form of forms) {
          const address = formatIpAddress({ version: 6, bits: word | form });
          expect(embeddedAddresses(address)).toContain(formatIpAddress({ version: 4, bits }));
        }
      }),
    );
  });
});

describe("the blocked range that contains a range", () => {
  const blockOf = (text: string) => {
    const reading = parseIpRange(text);
    return reading.ok ? closedBlockOf(reading.value) : reading.problem;
  };

  test.each([
    ["0.0.0.0", "0.0.0.0/8"],
    ["127.0.0.1", "127.0.0.0/8"],
    ["127.0.0.0/8", "127.0.0.0/8"],
    ["::ffff:127.0.0.1", "127.0.0.0/8"],
    ["169.254.169.254", "169.254.0.0/16"],
    ["169.254.0.0/24", "169.254.0.0/16"],
    ["240.0.0.0/5", "240.0.0.0/4"],
    ["192.0.0.192", "192.0.0.192/32"],
    ["::1", "::1/128"],
    ["::/127", "0.0.0.0/8"],
    ["fe80::/64", "fe80::/10"],
    ["fd00:ec2::254", "fd00:ec2::/32"],
    ["fd20:ce::254", "fd20:ce::254/128"],
    ["64:ff9b:1::a9fe:a9fe", "169.254.0.0/16"],
    ["64:ff9b:1::7f00:0/104", "127.0.0.0/8"],
    ["fd00::5efe:169.254.169.254", "169.254.0.0/16"],
    ["fd00::200:5efe:7f00:0/104", "127.0.0.0/8"],
  ])("of %s is %s", (text, block) => {
    expect(blockOf(text)).toBe(block);
  });

  test.each([
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "192.0.2.0/24",
    "fc00::/7",
    "fd00::/16",
    "fd80::1",
    "2001:db8::/32",
    "64:ff9b:1::/48",
    "64:ff9b:1::a00:1",
  ])("does not exist for %s", (text) => {
    expect(blockOf(text)).toBeUndefined();
  });

  test("exists for each single address that no name opens", () => {
    const octets = fc.tuple(fc.constantFrom(10, 100, 127, 168, 169, 192, 240), fc.nat(255), fc.nat(255), fc.nat(255));
    fc.assert(
      fc.property(octets, (parts) => {
        const address = parts.join(".");
        expect(blockOf(address) !== undefined).toBe(isClosedTarget(address));
      }),
    );
  });
});
