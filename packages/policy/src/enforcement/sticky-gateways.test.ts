import { describe, expect, test, vi } from "vitest";
import type { CompiledResource } from "../model/compiled-resource.ts";
import { StickyGateways } from "./sticky-gateways.ts";

const count = 300;
const ids = Array.from({ length: count }, (_, index) => `gateway ${index}`);
const keys = Array.from({ length: count }, (_, index) => `10.0.${index >> 8}.${index & 255}/32`);
const resource = { facts: { id: "r", loadBalancingMode: "AUTOMATIC" } } as CompiledResource; // all that is read

/** @param gatewayOf the current gateway of each address */
function sticky(serving: ReadonlySet<string>, gatewayOf: (index: number) => string) {
  const gateways = keys.map((key, index) => ({
    ...{ gateway: gatewayOf(index), publicKey: "", addresses: [], relays: [] },
    ...{ allowedIps: [key], names: [] },
  }));
  const configuration = { device: "d", ipv4: "100.64.0.1", ipv6: "fd00::1", gateways };
  return new StickyGateways({ configuration, serving, isChanged: () => false });
}

describe.each<[string, (index: number) => string]>([
  ["one gateway", () => ids.at(-1) ?? ""],
  ["different gateways", (index) => ids[index] ?? ""],
])("addresses of one resource on %s", (_what, gatewayOf) => {
  test("stay there, and the list of gateways is read once", () => {
    const serving = new Set(ids);
    const reads = vi.spyOn(serving, "has");
    const gateways = sticky(serving, gatewayOf);
    for (const [index, key] of keys.entries()) {
      expect(gateways.choice(resource, key, ids)).toBe(gatewayOf(index));
    }
    expect(reads).toHaveBeenCalledTimes(count);
  });
});

test("a gateway that returned is used instead of later ones", () => {
  const [returned = "", later = "", earlier = ""] = [ids[5], ids[6], ids[4]];
  const serving = new Set(ids.filter((id) => id !== returned));
  const chosen = (current: string) => sticky(serving, () => current).choice(resource, keys[0] ?? "", ids);
  expect([later, earlier, "a removed one"].map(chosen)).toEqual([returned, earlier, returned]);
});

test("a gateway that left is not used", () => {
  const gateways = sticky(new Set(ids), () => "a removed one");
  expect(gateways.choice(resource, keys[0] ?? "", ids)).toBeUndefined();
});
