import { expect, test } from "vitest";
import type { CompiledResource } from "../model/compiled-resource.ts";
import { compile } from "../model/model.ts";
import { destinationsOf } from "./destinations.ts";

const protocols = [{ protocol: "TCP" as const, port: "443" }];
const resource = (number: number, type: "PRIVATE" | "SAAS" | "INTERNET", ...addresses: readonly string[]) => ({
  id: `0199aaaa-0000-7000-8000-00000000000${number}`,
  name: `Resource ${number}`,
  type,
  loadBalancingMode: "MANUAL" as const,
  addresses: addresses.map((address) => ({ address, protocols })),
  gateways: [],
});
const named = resource(1, "PRIVATE", "app.example.com");
const wild = resource(2, "PRIVATE", "*.dev.example.com");
const others = [
  resource(3, "PRIVATE", "10.0.0.0/16", "10.1.0.5"),
  resource(4, "PRIVATE", "other.example.com"),
  resource(5, "INTERNET", "203.0.113.0/24"),
];
const none = { users: [], groups: [], devices: [], gateways: [], rules: [], policies: [] };
const model = compile({ ...none, resources: [named, wild, ...others] });
const carried =
  ({ id }: { readonly id: string }) =>
  (one: CompiledResource) =>
    one.facts.id === id;

test("a gateway with a wildcard knows the private addresses of all resources, which it drops", () => {
  const destinations = destinationsOf(model, carried(wild), false);
  expect([...destinations.keys()].sort()).toEqual(["*.dev.example.com", "10.0.0.0/16", "10.1.0.5/32"]);
  expect(destinations.get("10.0.0.0/16")).toEqual({ services: [], otherwise: "drop" });
  expect([...destinationsOf(model, carried(named), false).keys()]).toEqual(["app.example.com"]);
});

test("only names of nothing but SAAS resources have answers of the internet alone", () => {
  const saas = resource(6, "SAAS", "crm.example.com", "shared.example.com", "*.example.net", "198.51.100.7");
  const both = resource(7, "PRIVATE", "shared.example.com", "git.example.com");
  const all = destinationsOf(compile({ ...none, resources: [saas, both] }), () => true, true);
  const global = [...all].flatMap(([key, { answers }]) => (answers === "global" ? [key] : []));
  expect(global.sort()).toEqual(["*.example.net", "crm.example.com"]);
});
