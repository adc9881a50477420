import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { lastAddressOf, parseIpRange } from "@gatehouse/addresses/ip-ranges";
import { compileSourceIps, sourceIpsContain } from "@gatehouse/addresses/source-ips";
import { describe, expect, test } from "vitest";
import { grantsBeyond } from "./api-keys.rules.ts";

const lists: readonly (readonly string[])[] = [
  [],
  ["0.0.0.0/0"],
  ["::/0"],
  ["0.0.0.0/0", "::/0"],
  ["192.0.2.0/24"],
  ["192.0.2.0/25"],
  ["192.0.2.128/25"],
  ["192.0.2.7"],
  ["192.0.2.7/32"],
  ["::ffff:192.0.2.7"],
  ["::ffff:192.0.2.0/121"],
  ["192.0.3.0"],
  ["198.51.100.0/24", "192.0.2.0/24"],
  ["198.51.100.9", "192.0.2.7"],
  ["2001:db8::/32"],
  ["2001:db8:1::/48"],
  ["2001:DB8:1:0::5"],
  ["2001:db9::"],
  ["192.0.2.0/24", "2001:db8::/32"],
];
const probes = lists.flat().flatMap((text) => {
  const reading = parseIpRange(text);
  if (!reading.ok) throw new Error(reading.problem);
  const { version, first } = reading.value;
  return [first, lastAddressOf(reading.value)].map((bits) => formatIpAddress({ version, bits }));
});

function exceeds(asked: readonly string[], held: readonly string[]): boolean {
  const limits = { expiresAt: null, sourceIps: held };
  return grantsBeyond({ permissions: [], expiresAt: null, sourceIps: asked }, new Set(), limits).length > 0;
}

/** Whether a key with these source addresses is accepted from an address. */
function admits(sourceIps: readonly string[], address: string): boolean {
  return sourceIps.length === 0 || sourceIpsContain(compileSourceIps(sourceIps), address);
}

describe.each(lists.map((held) => ({ held })))("a maker held to $held", ({ held }) => {
  test("may ask exactly for what opens no other address", () => {
    for (const asked of lists) {
      const opened = probes.filter((address) => admits(asked, address) && !admits(held, address));
      // "Anywhere" and every address of both versions admit the same; the list that says so still counts as a limit.
      const unlimited = asked.length === 0 && held.length > 0;
      expect({ asked, exceeds: exceeds(asked, held) }).toEqual({ asked, exceeds: opened.length > 0 || unlimited });
    }
  });

  test("may ask for its own", () => {
    expect(exceeds(held, held)).toBe(false);
  });
});

test("a block that only several held ones cover together counts as beyond", () => {
  expect(exceeds(["192.0.2.0/24"], ["192.0.2.0/25", "192.0.2.128/25"])).toBe(true);
});

test.each([
  [null, null, false],
  ["2030-01-01T00:00:00.000Z", null, false],
  ["2030-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z", false],
  ["2030-01-01T01:00:00+02:00", "2030-01-01T00:00:00.000Z", false],
  ["2030-01-01T00:00:00.001Z", "2030-01-01T00:00:00.000Z", true],
  ["2029-12-31T23:00:00-02:00", "2030-01-01T00:00:00.000Z", true],
  [null, "2030-01-01T00:00:00.000Z", true],
])("a key until %s, by a maker until %s, exceeds it: %s", (asked, held, beyond) => {
  const grants = { permissions: [], expiresAt: asked, sourceIps: [] };
  expect(grantsBeyond(grants, new Set(), { expiresAt: held, sourceIps: [] })).toHaveLength(beyond ? 1 : 0);
});

test("what exceeds is named all at once, and long lists are counted", () => {
  const asked = Array.from({ length: 100 }, (_, index) => `198.51.100.${index}`);
  expect(
    grantsBeyond(
      { permissions: ["users:read", "users:write"], expiresAt: null, sourceIps: asked },
      new Set(["users:read"]),
      {
        expiresAt: "2030-01-01T00:00:00.000Z",
        sourceIps: ["192.0.2.0/24"],
      },
    ),
  ).toEqual([
    "The calling key does not hold users:write itself.",
    "The calling key expires at 2030-01-01T00:00:00.000Z; the new one never would.",
    "The calling key may only be used from 192.0.2.0/24; the new one could be from " +
      "198.51.100.0, 198.51.100.1, 198.51.100.2, 198.51.100.3, 198.51.100.4 and 95 more.",
  ]);
});

test("nothing limits the operator but the permissions", () => {
  const grants = { permissions: [], expiresAt: null, sourceIps: [] };
  expect(grantsBeyond(grants, new Set(), undefined)).toEqual([]);
});
