import { expect, test } from "vitest";
import { compile, type Model, update } from "../model/model.ts";
import { finish } from "../work.ts";
import { findingTenantAddresses } from "./destinations.ts";
import { ParsedAddresses } from "./parsed-addresses.ts";

const resource = (number: number, ...addresses: readonly string[]) => ({
  id: `0199aaaa-0000-7000-8000-${String(number).padStart(12, "0")}`,
  name: `Resource ${number}`,
  type: "PRIVATE" as const,
  loadBalancingMode: "MANUAL" as const,
  addresses: addresses.map((address) => ({ address, protocols: [{ protocol: "TCP" as const, port: "443" }] })),
  gateways: [],
});
const none = { users: [], groups: [], devices: [], gateways: [], rules: [], policies: [] };
const original = compile({ ...none, resources: [resource(1, "10.0.0.1"), resource(2, "10.0.0.2")] });
const keysOf = (model: Model) => [...finish(findingTenantAddresses(model)).keys()];

test("former states of a resource are not retained", () => {
  let model = original;
  for (let count = 1; count <= 200; count += 1) {
    model = update(model, [{ kind: "resource", facts: resource(1, `10.1.0.${count}`) }]);
    expect(keysOf(model)).toEqual([`10.1.0.${count}/32`, "10.0.0.2/32"]);
  }
  expect(model.resources.base).toBe(original.resources.base);
  expect(ParsedAddresses.for(model.resources).size).toBe(2);
});

test("the entries of deleted resources are limited", () => {
  let model = original;
  for (let number = 3; number <= 300; number += 1) {
    model = update(model, [{ kind: "resource", facts: resource(number, "10.2.0.1") }]);
    keysOf(model);
    model = update(model, [{ kind: "resource", gone: resource(number).id }]);
  }
  expect(ParsedAddresses.for(model.resources).size).toBeLessThan(100);
});

test("a former table with the same base keeps its own addresses", () => {
  const later = update(original, [{ kind: "resource", facts: resource(1, "10.1.0.1") }]);
  const parsed = ParsedAddresses.for(original.resources);
  const keyIn = (model: Model) => {
    const found = model.resources.get(resource(1).id);
    return found === undefined ? [] : parsed.of(found).map(({ key }) => key);
  };
  expect(ParsedAddresses.for(later.resources)).toBe(parsed);
  expect([original, later, original].map(keyIn)).toEqual([["10.0.0.1/32"], ["10.1.0.1/32"], ["10.0.0.1/32"]]);
});
