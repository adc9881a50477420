import { type Destination, mostAnswerRanges, mostServices } from "@gatehouse/agent-protocol/gateway/configuration";
import { describe, expect, test } from "vitest";
import type { CompiledResource } from "../model/compiled-resource.ts";
import { compile } from "../model/model.ts";
import { finish } from "../work.ts";
import { findingDestinations } from "./destinations.ts";

const destinationsOf = (...inputs: Parameters<typeof findingDestinations>) => finish(findingDestinations(...inputs));

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
const site = { internet: false, hasNetworks: false };
const carried =
  ({ id }: { readonly id: string }) =>
  (one: CompiledResource) =>
    one.facts.id === id;

test("a gateway with a wildcard knows the private addresses of all resources, which it drops", () => {
  const destinations = destinationsOf(model, carried(wild), site);
  expect([...destinations.keys()].sort()).toEqual(["*.dev.example.com", "10.0.0.0/16", "10.1.0.5/32"]);
  expect(destinations.get("10.0.0.0/16")).toEqual({ services: [], otherwise: "drop" });
  expect([...destinationsOf(model, carried(named), site).keys()]).toEqual(["app.example.com"]);
});

test("only names of nothing but SAAS resources have answers of the internet alone", () => {
  const saas = resource(6, "SAAS", "crm.example.com", "shared.example.com", "*.example.net", "198.51.100.7");
  const both = resource(7, "PRIVATE", "shared.example.com", "git.example.com");
  const all = destinationsOf(compile({ ...none, resources: [saas, both] }), () => true, {
    internet: true,
    hasNetworks: false,
  });
  const global = [...all].flatMap(([key, { answers }]) => (answers === "global" ? [key] : []));
  expect(global.sort()).toEqual(["*.example.net", "crm.example.com"]);
});

test("an address with more services than a gateway accepts is closed for the others", () => {
  const ports = Array.from({ length: 100 }, (_, index) => ({ protocol: "TCP" as const, port: String(1 + index) }));
  const [large, last] = [resource(1, "INTERNET", "203.0.113.1"), resource(2, "INTERNET", "203.0.113.1")];
  const many = {
    ...large,
    addresses: [{ address: "203.0.113.1", protocols: Array.from({ length: 100 }, () => ports) }],
  };
  const internet = { internet: true, hasNetworks: false };
  const destinationOf = (resources: readonly (typeof last)[]) =>
    destinationsOf(compile({ ...none, resources }), () => true, internet).get("203.0.113.1/32");
  expect(destinationOf([last])).toMatchObject({ services: [{ resource: last.id }], otherwise: "internet" });
  const closed = destinationOf([many as unknown as typeof last, last]);
  expect(closed?.otherwise).toBe("drop");
  expect(closed?.services).toHaveLength(mostServices);
});

describe("the answers of a name", () => {
  const named = (
    number: number,
    type: "PRIVATE" | "SAAS" | "INTERNET",
    answersWithin: readonly string[] | null = null,
  ) => ({ ...resource(number, type), addresses: [{ address: "app.example.com", protocols, answersWithin }] });
  const [everywhere, wide, narrow, other] = [["0.0.0.0/0", "::/0"], ["10.0.0.0/8"], ["10.1.0.0/16"], ["10.2.0.0/16"]];
  type Row = readonly [
    string,
    readonly ReturnType<typeof named>[],
    withNetworks: Destination["answers"],
    without: Destination["answers"],
  ];

  test.each<Row>([
    ["a private resource", [named(1, "PRIVATE")], "networks", undefined],
    ["a private resource with a list", [named(1, "PRIVATE", narrow)], narrow, narrow],
    ["a list that contains all addresses", [named(1, "PRIVATE", everywhere)], everywhere, everywhere],
    ["two private resources, one with a list", [named(1, "PRIVATE"), named(2, "PRIVATE", narrow)], narrow, narrow],
    ["nested lists", [named(1, "PRIVATE", wide), named(2, "PRIVATE", narrow)], narrow, narrow],
    ["nested lists, the narrow one first", [named(1, "PRIVATE", narrow), named(2, "PRIVATE", wide)], narrow, narrow],
    ["disjoint lists", [named(1, "PRIVATE", narrow), named(2, "PRIVATE", other)], [], []],
    ["a SAAS resource", [named(1, "SAAS")], "global", "global"],
    ["a SAAS and a private resource", [named(1, "SAAS"), named(2, "PRIVATE")], undefined, undefined],
    ["a SAAS resource and a list", [named(1, "SAAS"), named(2, "PRIVATE", narrow)], narrow, narrow],
    ["an INTERNET resource", [named(1, "INTERNET")], undefined, undefined],
    ["an INTERNET and a private resource", [named(1, "INTERNET"), named(2, "PRIVATE")], undefined, undefined],
  ])("of %s", (_, resources, withNetworks, without) => {
    const model = compile({ ...none, resources });
    const answersAt = (hasNetworks: boolean) =>
      destinationsOf(model, () => true, { internet: false, hasNetworks }).get("app.example.com")?.answers;
    expect(answersAt(true)).toEqual(withNetworks);
    expect(answersAt(false)).toEqual(without);
  });

  test("do not depend on the lists of resources that the gateway does not carry", () => {
    const model = compile({ ...none, resources: [named(1, "PRIVATE", narrow), named(2, "PRIVATE", other)] });
    const destinations = destinationsOf(model, carried(named(2, "PRIVATE")), site);
    expect(destinations.get("app.example.com")?.answers).toEqual(other);
  });

  // Intersecting one pair of lists after the other would produce 32 to the power of six ranges.
  const chain = Array.from({ length: 32 }, (_, index) => `0.0.0.0/${index + 1}`);
  test.each([1, 2, 6])("are each block once, without blocks in it, for %d lists of nested blocks", (count) => {
    const resources = Array.from({ length: count }, (_, index) => named(index, "PRIVATE", chain));
    const destinations = destinationsOf(compile({ ...none, resources }), () => true, site);
    expect(destinations.get("app.example.com")?.answers).toEqual(["0.0.0.0/1"]);
  });

  test("are none if the agent would refuse their number", () => {
    const blocks = Array.from({ length: mostAnswerRanges + 1 }, (_, index) => `10.0.${index >> 8}.${index & 255}/32`);
    const answersFor = (list: readonly string[]) => {
      const model = compile({ ...none, resources: [named(1, "PRIVATE", list)] });
      return destinationsOf(model, () => true, site).get("app.example.com")?.answers;
    };
    expect(answersFor(blocks.slice(1))).toHaveLength(mostAnswerRanges);
    expect(answersFor(blocks)).toEqual([]);
  });

  test("limit no IP address", () => {
    const resources = [
      { ...resource(1, "PRIVATE"), addresses: [{ address: "10.9.0.1", protocols, answersWithin: wide }] },
    ];
    const scope = { internet: false, hasNetworks: true };
    const destinations = destinationsOf(compile({ ...none, resources }), () => true, scope);
    expect(destinations.get("10.9.0.1/32")).not.toHaveProperty("answers");
  });
});
