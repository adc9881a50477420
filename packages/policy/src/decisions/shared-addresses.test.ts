import { describe, expect, test } from "vitest";
import type { FactChange, ResourceFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { entryCost, finish, yieldAfter } from "../work.ts";
import { explain } from "./explain.ts";
import { newlySharedAddresses, type SharedAddress } from "./shared-addresses.ts";

const tenant = (resources: string) => `
  users: { ada: {} }
  devices: { laptop: { user: ada } }
  gateways: { berlin: ONLINE }
  resources:
${resources}
  policies:
    - { name: Open, all: [users, resources] }`;

function caseOf(resources: string, request = "{ device: laptop, resource: Wiki }") {
  return goldenCase(
    "a case",
    `why: Addresses that several resources have, described by its test.\ntenant:${tenant(resources)}\nrequest: ${request}\nexpect: { allowed: false, reasons: [no_policy_allows] }\n`,
  );
}

const inShort = ({ address, resource, resources, enclosing }: SharedAddress) => ({
  address,
  of: resource.name,
  resources: resources.map(({ name }) => name),
  enclosing: enclosing.map(({ name }) => name),
});

function explained(resources: string, request: string) {
  const { facts, request: asked } = caseOf(resources, request);
  return explain(compile(facts), asked).sharedAddresses.map(inShort);
}

/** The shared addresses after the last resource was created. */
function created(resources: string) {
  const { facts } = caseOf(resources);
  const added = facts.resources.at(-1);
  if (added === undefined) throw new Error("The case has no resource.");
  const change: FactChange = { kind: "resource", facts: added };
  const before = compile({ ...facts, resources: facts.resources.slice(0, -1) });
  return finish(newlySharedAddresses([change], before, compile(facts))).map(inShort);
}

const twice = `
    Wiki: { addresses: { wiki.internal: [TCP/443] } }
    Wiki for all: { addresses: { wiki.internal: [TCP/443] } }`;

describe("an explanation", () => {
  const shared = { address: "wiki.internal", resources: ["Wiki", "Wiki for all"], enclosing: [] };

  test("by address names the other resources at the address, the first created one first", () => {
    expect(explained(twice, "{ device: laptop, to: wiki.internal }")).toEqual([{ ...shared, of: "Wiki" }]);
  });

  test("by resource names the resource that connections reach instead", () => {
    expect(explained(twice, "{ device: laptop, resource: Wiki for all }")).toEqual([{ ...shared, of: "Wiki for all" }]);
  });

  test("is silent about a resource that offers other ports there", () => {
    const other = twice.replace(
      "Wiki for all: { addresses: { wiki.internal: [TCP/443]",
      "SSH: { addresses: { wiki.internal: [TCP/22]",
    );
    expect(explained(other, "{ device: laptop, to: wiki.internal }")).toEqual([]);
  });
});

describe("a created resource", () => {
  test("shares an address with an earlier resource", () => {
    expect(created(twice)).toEqual([
      { address: "wiki.internal", of: "Wiki for all", resources: ["Wiki", "Wiki for all"], enclosing: [] },
    ]);
  });

  test("shares ports of a range, and a block in another notation", () => {
    const ranges = `
    Wiki: { addresses: { 10.1.2.3: [TCP/1-1024] } }
    Web: { addresses: { 10.1.2.3/32: [TCP/443] } }`;
    expect(created(ranges)).toEqual([{ address: "10.1.2.3/32", of: "Web", resources: ["Wiki", "Web"], enclosing: [] }]);
  });

  test.each([
    ["block", "10.1.0.0/16", "10.1.2.3"],
    ["wildcard", "*.internal", "wiki.internal"],
    ["longer wildcard", "*.internal", "*.wiki.internal"],
  ])("takes its address from a resource with a %s", (_kind, wide, narrow) => {
    const within = `
    Network: { addresses: { "${wide}": [TCP/443] } }
    Wiki: { addresses: { "${narrow}": [TCP/443] } }`;
    expect(created(within)).toEqual([{ address: narrow, of: "Wiki", resources: [], enclosing: ["Network"] }]);
  });

  test("shares nothing at an address of its own", () => {
    const apart = `
    Wiki: { addresses: { wiki.internal: [TCP/443] } }
    Git: { addresses: { git.internal: [TCP/443] } }`;
    expect(created(apart)).toEqual([]);
  });
});

test("a changed resource shares only its new addresses", () => {
  const { facts } = caseOf(twice);
  const model = compile(facts);
  const changes = facts.resources.map((resource): FactChange => ({ kind: "resource", facts: resource }));
  expect(finish(newlySharedAddresses(changes, model, model))).toEqual([]);
});

describe("the cost", () => {
  /** The units of each slice of the comparison of the last resource with all others at its address. */
  function slices(resources: string): readonly number[] {
    const { facts } = caseOf(resources, "{ device: laptop, to: wiki.internal }");
    const added = facts.resources.at(-1);
    if (added === undefined) throw new Error("The case has no resource.");
    const model = compile(facts);
    return [...newlySharedAddresses([{ kind: "resource", facts: added }], compile({ ...facts, resources: [] }), model)];
  }

  test("counts each resource at the address, in slices", () => {
    const count = 500;
    const others = Array.from(
      { length: count },
      (_, index) => `
    R${index}: { addresses: { wiki.internal: [TCP/${index + 1}] } }`,
    );
    const units = slices(others.join(""));
    expect(units.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(count * entryCost);
    expect(Math.max(...units)).toBeLessThan(count * entryCost + 2 * yieldAfter);
  });

  test("counts the services of each resource", () => {
    const ports = (protocol: string) => Array.from({ length: 200 }, (_, index) => `${protocol}/${2 * index + 1}`);
    const [tcp, udp] = [ports("TCP"), ports("UDP")];
    const units = slices(`
    Wiki: { addresses: { wiki.internal: [${tcp}] } }
    Names: { addresses: { wiki.internal: [${udp}] } }`);
    expect(units.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(400 * entryCost);
  });
});

/** Finds shared addresses after the creation of resources at one address, with these ports. */
function createdWithPorts(ports: readonly number[]) {
  const resources = ports.map((port, index): ResourceFacts => {
    const protocols = [{ protocol: "TCP" as const, port: String(port) }];
    const named = { id: `r${index + 10_000}`, name: `R${index}`, type: "PRIVATE" } as const;
    return { ...named, loadBalancingMode: "MANUAL", addresses: [{ address: "10.0.0.1", protocols }], gateways: [] };
  });
  const nothing = { users: [], groups: [], devices: [], gateways: [], rules: [], policies: [] };
  const changes = resources.map((facts): FactChange => ({ kind: "resource", facts }));
  return newlySharedAddresses(changes, compile({ ...nothing, resources: [] }), compile({ ...nothing, resources }));
}

const differentPorts = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("new resources with different ports at one address are compared in linear time", () => {
  const costOf = (count: number) => [...createdWithPorts(differentPorts(count))].reduce((sum, cost) => sum + cost, 0);
  expect(costOf(1_000)).toBeLessThan(2.5 * costOf(500));
});

test("two of many new resources at one address share a port", () => {
  const shared = { address: "10.0.0.1", resources: ["R2", "R100"], enclosing: [] };
  expect(finish(createdWithPorts([...differentPorts(100), 3])).map(inShort)).toEqual([
    { ...shared, of: "R2" },
    { ...shared, of: "R100" },
  ]);
});
