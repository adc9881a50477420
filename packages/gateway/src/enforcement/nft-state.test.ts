import { describe, expect, test } from "vitest";
import { exampleConfiguration, exampleResource } from "../testing/example-configuration.ts";
import { tableChange, wholeTable } from "./nft-state.ts";
import { policyPart, withNames } from "./traffic-rules.ts";

const nowhere = () => ({});
const carriage = { interfaceName: "gatehouse0", keepsSource: false };
const { content, envelope } = exampleConfiguration();
const stateOf = (value = content, named = new Map<string, readonly string[]>()) =>
  withNames(policyPart(carriage, value, 2_000, envelope.header.expiresAt), value, named, nowhere);

function withDevices(count: number) {
  const keys = Array.from({ length: count }, (_, index) => [`100.65.${index >> 8}.${index & 255}`, index] as const);
  const peers = keys.map(([key, index]) => {
    const publicKey = Buffer.alloc(32, `key ${index} `).toString("base64");
    return [key, { kind: "device" as const, publicKey, ipv6: `fd64::1:${index.toString(16)}` }] as const;
  });
  return {
    ...content,
    peers: Object.fromEntries(peers),
    classes: { staff: Object.fromEntries(keys.map(([key]) => [key, true as const])) },
  };
}

describe("changes of the table", () => {
  test("are none when nothing has changed", () => {
    expect(tableChange("t", stateOf(), stateOf())).toBe("");
  });

  test("change only the device's element if a device loses access", () => {
    const without = { ...content, classes: {} };
    const lines = tableChange("t", stateOf(), stateOf(without)).trim().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^delete element inet t class_[0-9a-f]{32}_4 \{ 100\.64\.0\.1 \}$/);
    expect(lines[1]).toMatch(/^delete element inet t class_[0-9a-f]{32}_6 \{ fd64::1 \}$/);
  });

  test("have as many rules for 10,000 devices as for one", () => {
    const rules = (script: string) => script.split("\n").filter((line) => line.startsWith("add rule")).length;
    expect(rules(wholeTable("t", stateOf(withDevices(10_000))))).toBe(rules(wholeTable("t", stateOf())));
  });

  test("add only a resolved address to the map of names", () => {
    const named = new Map([["10.90.0.7", ["*.internal.example.com"]]]);
    const lines = tableChange("t", stateOf(), stateOf(content, named)).trim().split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/^add element inet t names4 \{ 10\.90\.0\.7 : goto destination_[0-9a-f]{32} \}$/),
    ]);
  });

  test("remove unreferenced elements last", () => {
    const without = { ...content, resources: {}, destinations: {} };
    const lines = tableChange("t", stateOf(), stateOf(without)).trim().split("\n");
    expect(lines).toContain(`delete chain inet t resource_${exampleResource}`);
    const flushed = lines.findIndex((line) => line.startsWith("flush map inet t blocks4"));
    const deleted = lines.findIndex((line) => line.startsWith("delete chain"));
    expect(flushed).toBeGreaterThanOrEqual(0);
    expect(flushed).toBeLessThan(deleted);
  });

  test("close a time window when it ends", () => {
    const windowed = { ...content, classes: { staff: { "100.64.0.1": [[null, 3_000]] as const } } };
    const at = (now: number) =>
      withNames(policyPart(carriage, windowed, now, 90_000_000), windowed, new Map(), nowhere);
    expect(tableChange("t", at(1_000), at(2_999))).toBe("");
    expect(tableChange("t", at(2_999), at(3_000))).toContain("delete element");
  });
});
