import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { addressWidth, formatIpAddress, type IpAddress, parseIpAddress } from "./ip-address.ts";
import { type IpRange, lastAddressOf, parseIpRange } from "./ip-ranges.ts";
import { privateAddressProblem, SPECIAL_PURPOSE_BLOCKS } from "./special-purpose.ts";

function range(text: string): IpRange {
  const reading = parseIpRange(text);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.value;
}

describe("may be private", () => {
  test.each([
    "10.0.0.0/8",
    "10.1.2.3",
    "172.16.0.0/12",
    "172.31.255.255",
    "192.168.0.0/16",
    "127.0.0.1",
    "169.254.0.0/16",
    "0.0.0.0",
    "192.0.0.0/29",
    "192.0.0.8",
    "192.0.0.11",
    "192.0.0.128/25",
    "192.0.2.0/24",
    "192.88.99.2",
    "198.18.0.0/15",
    "203.0.113.9",
    "240.0.0.0/4",
    "255.255.255.255",
    "::1",
    "::/127",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::1",
    "100::/63",
    "2001:1::4",
    "2001:2::/48",
    "2001:4::1",
    "2001:10::/28",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fd12:3456:789a::1",
    "fe80::/10",
  ])("%s", (text) => {
    expect(privateAddressProblem(range(text))).toBeUndefined();
  });
});

describe("is, or contains, a globally reachable address", () => {
  test.each([
    ["8.8.8.8", "8.8.8.8"],
    ["0.0.0.0/0", "1.0.0.0"],
    ["8.0.0.0/5", "8.0.0.0"],
    ["10.0.0.0/7", "11.0.0.0"],
    ["172.32.0.1", "172.32.0.1"],
    ["172.0.0.0/11", "172.0.0.0"],
    ["192.0.0.0/24", "192.0.0.9"],
    ["192.0.0.10", "192.0.0.10"],
    ["192.0.0.0/16", "192.0.0.9"],
    ["192.0.2.0/23", "192.0.3.0"],
    ["192.31.196.1", "192.31.196.1"],
    ["192.52.193.0/24", "192.52.193.0"],
    ["192.88.99.1", "192.88.99.1"],
    ["192.175.48.6", "192.175.48.6"],
    ["100.0.0.0/8", "100.0.0.0"],
    ["100.0.0.0/9", "100.0.0.0"],
    ["224.0.0.251", "224.0.0.251"],
    ["239.255.0.1", "239.255.0.1"],
    ["224.0.0.0/3", "224.0.0.0"],
    ["::ffff:8.8.8.8", "8.8.8.8"],
    ["::/0", "::2"],
    ["::2", "::2"],
    ["64:ff9b::a00:1", "64:ff9b::a00:1"],
    ["100::/62", "100:0:0:2::"],
    ["2001::1", "2001::1"],
    ["2001::/23", "2001::"],
    ["2001:1::/32", "2001:1::1"],
    ["2001:1::3", "2001:1::3"],
    ["2001:3::1", "2001:3::1"],
    ["2001:4:112::/48", "2001:4:112::"],
    ["2001:20::/28", "2001:20::"],
    ["2001:30::/28", "2001:30::"],
    ["2002:a00:1::1", "2002:a00:1::1"],
    ["2606:4700::1111", "2606:4700::1111"],
    ["2620:4f:8000::1", "2620:4f:8000::1"],
    ["4000::1", "4000::1"],
    ["fec0::1", "fec0::1"],
    ["ff02::1", "ff02::1"],
    ["fc00::/6", "fe00::"],
  ])("%s has %s", (text, conflict) => {
    expect(privateAddressProblem(range(text))).toEqual({ reason: "globally_reachable", conflict });
  });
});

describe("is in the device pool", () => {
  test.each(["100.64.0.0/10", "100.64.0.1", "100.127.255.255", "100.96.0.0/12"])("%s", (text) => {
    expect(privateAddressProblem(range(text))).toEqual({ reason: "overlaps_device_pool", conflict: "100.64.0.0/10" });
  });
});

/** The registries read literally, one address at a time. */
function naiveGloballyReachable(address: IpAddress): boolean {
  let speaks: { prefixLength: number; reachable: boolean } | undefined;
  for (const { block, globallyReachable } of SPECIAL_PURPOSE_BLOCKS) {
    const [base = "", prefix = ""] = block.split("/");
    const parsed = parseIpAddress(base);
    if (parsed?.version !== address.version) continue;
    const hostBits = BigInt(addressWidth(address.version) - Number(prefix));
    if (parsed.bits >> hostBits !== address.bits >> hostBits) continue;
    if (speaks === undefined || Number(prefix) > speaks.prefixLength) {
      speaks = { prefixLength: Number(prefix), reachable: globallyReachable !== false };
    }
  }
  return speaks?.reachable ?? true;
}

/** Addresses at, just before and just after the edges of the registered blocks, where mistakes live. */
const nearEdges = SPECIAL_PURPOSE_BLOCKS.flatMap(({ block }) => {
  const { version, ...rest } = range(block);
  const last = lastAddressOf({ version, ...rest });
  const limit = 1n << BigInt(addressWidth(version));
  return [rest.first - 1n, rest.first, rest.first + 1n, last - 1n, last, last + 1n]
    .filter((bits) => bits >= 0n && bits < limit)
    .map((bits): IpAddress => ({ version, bits }));
});

const addresses = fc.oneof(
  fc.constantFrom(...nearEdges),
  fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((bits): IpAddress => ({ version: 4, bits })),
  fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }).map((bits): IpAddress => ({ version: 6, bits })),
);

it("judges single addresses as the registries read literally", () => {
  fc.assert(
    fc.property(addresses, (address) => {
      const only = { version: address.version, first: address.bits, prefixLength: addressWidth(address.version) };
      expect(privateAddressProblem(only)?.reason === "globally_reachable").toBe(naiveGloballyReachable(address));
    }),
    { numRuns: 2000 },
  );
});

it("refuses a block exactly when one of its addresses is refused, and names the lowest", () => {
  fc.assert(
    fc.property(addresses, fc.integer({ min: 0, max: 9 }), ({ version, bits }, hostBits) => {
      const shift = BigInt(hostBits);
      const block: IpRange = {
        version,
        first: (bits >> shift) << shift,
        prefixLength: addressWidth(version) - hostBits,
      };
      let lowest: string | undefined;
      for (let each = block.first; each <= lastAddressOf(block) && lowest === undefined; each += 1n) {
        if (naiveGloballyReachable({ version, bits: each })) lowest = formatIpAddress({ version, bits: each });
      }
      const problem = privateAddressProblem(block);
      expect(problem?.reason === "globally_reachable" ? problem.conflict : undefined).toBe(lowest);
    }),
    { numRuns: 150 },
  );
});
