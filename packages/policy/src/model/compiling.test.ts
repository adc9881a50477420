import { expect, test, vi } from "vitest";
import { plainPolicy } from "../testing/plain-policy.ts";
import { finish, recordCost, referenceCost, type Work } from "../work.ts";
import { AddressDirectory } from "./address-directory.ts";
import { CompiledResource } from "./compiled-resource.ts";
import { CompiledUser } from "./compiled-user.ts";
import type { FactChange, PolicyFacts, TenantFacts } from "./facts.ts";
import { indexingUsers } from "./members.ts";
import { compile, compiling, type Model, update, updating } from "./model.ts";
import { PolicyList } from "./policy-list.ts";
import { type Records, Table } from "./table.ts";

/** The most units between two yields, which are about 20 ns each: a slice of 8 ms has 400,000. */
const mostUnitsAtOnce = 20_000;

const count = 3_000;
const ids = Array.from({ length: count }, (_, index) => `0199aaaa-0000-7000-8000-${String(index).padStart(12, "0")}`);

function policyOf(id: string, more: Partial<PolicyFacts> = {}): PolicyFacts {
  return plainPolicy({ id, rule: id, ...more });
}

function costsOf(work: Work<unknown>): readonly number[] {
  const costs: number[] = [];
  for (let step = work.next(); step.done !== true; step = work.next()) costs.push(step.value);
  return costs;
}

const facts: TenantFacts = {
  users: ids.map((id) => ({
    id,
    email: `${id}@example.com`,
    firstName: "Ada",
    lastName: "Ahrens",
    status: "active",
    attributes: {},
    groups: [],
  })),
  groups: [],
  devices: [],
  gateways: [],
  resources: ids.map((id, index) => ({
    id,
    name: id,
    type: "PRIVATE",
    loadBalancingMode: "MANUAL",
    addresses: [{ address: `host-${index}.example.com`, protocols: [{ protocol: "TCP" }] }],
    gateways: [],
  })),
  rules: [],
  policies: ids.map((id) => policyOf(id, { allUsers: true, resources: [id] })),
};

test("a large model is compiled in short steps", () => {
  const work = compiling(facts);
  const costs = costsOf(work);
  expect(costs.length).toBeGreaterThan(count / 20);
  expect(Math.max(...costs)).toBeLessThanOrEqual(mostUnitsAtOnce);
});

test("an address that many resources have is indexed in short steps", () => {
  const shared = facts.resources.map((resource) => ({
    ...resource,
    addresses: [{ address: "10.0.0.0/8", protocols: [{ protocol: "TCP" as const }] }],
  }));
  const { resources } = compile({ ...facts, policies: [], resources: shared });
  const costs = costsOf(AddressDirectory.compiling(resources));
  expect(Math.max(...costs)).toBeLessThanOrEqual(mostUnitsAtOnce / 2);
  const { same } = finish(AddressDirectory.compiling(resources)).atAddress("10.0.0.0/8");
  expect(same.map(({ resourceId }) => resourceId)).toEqual(ids);
});

test.each<[string, readonly FactChange[]]>([
  ["all users", facts.users.map((user) => ({ kind: "user", facts: { ...user, firstName: "Bea" } }))],
  ["all resources", facts.resources.map((resource) => ({ kind: "resource", facts: { ...resource, name: "New" } }))],
  ["500 policies", ids.slice(0, 500).map((id) => ({ kind: "policy", facts: policyOf(id, { name: "New" }) }))],
  ["a policy with 3,000 resources", [{ kind: "policy", facts: policyOf(ids[0] ?? "", { resources: ids }) }]],
  [
    "a policy with 500 users and 100 resources",
    [{ kind: "policy", facts: policyOf(ids[0] ?? "", { users: ids.slice(0, 500), resources: ids.slice(0, 100) }) }],
  ],
  ["the order of all policies", [{ kind: "policy-order", type: "PRIVATE", ids: ids.toReversed() }]],
])("a change of %s updates a model in short steps", (_, changes) => {
  const costs = costsOf(updating(compile(facts), changes));
  expect(costs.length).toBeGreaterThan(count / 100);
  expect(Math.max(...costs)).toBeLessThanOrEqual(mostUnitsAtOnce);
});

test("many changes of policies give the same lists as one change after the other", () => {
  const added = ids.slice(0, 600).map((id) => policyOf(id.replace("0199aaaa", "0199bbbb"), { allUsers: true }));
  const changes: readonly FactChange[] = [
    ...ids.slice(0, 300).map((id): FactChange => ({ kind: "policy", facts: policyOf(id, { name: "New" }) })),
    ...ids.slice(200, 400).map((gone): FactChange => ({ kind: "policy", gone })),
    ...added.map((policy): FactChange => ({ kind: "policy", facts: policy })),
  ];
  const before = compile({ ...facts, users: [], resources: [] });
  const costs = costsOf(updating(before, changes));
  expect(Math.max(...costs)).toBeLessThanOrEqual(mostUnitsAtOnce);
  const listOf = ({ policies }: Model) => policies.PRIVATE.policies.map(({ facts: { id, name } }) => ({ id, name }));
  const oneByOne = changes.reduce((model, change) => update(model, [change]), before);
  expect(listOf(update(before, changes))).toEqual(listOf(oneByOne));
});

test("an index of members is the same if the table creates users when they are asked for", () => {
  const groups = ["g1", "g2", "g3"];
  const users = facts.users.slice(0, 20).map((user, index) => ({ ...user, groups: groups.slice(index % 4) }));
  const byId = new Map(users.map((user) => [user.id, user]));
  const records: Records<CompiledUser> = {
    size: users.length,
    retainsValues: false,
    get: (id) => {
      const user = byId.get(id);
      return user === undefined ? undefined : new CompiledUser(user);
    },
    *[Symbol.iterator]() {
      for (const user of users) yield [user.id, new CompiledUser(user)] as const;
    },
  };
  const created = finish(indexingUsers(Table.ofRecords(records)));
  const retained = finish(indexingUsers(Table.of(users.map((user) => [user.id, new CompiledUser(user)] as const))));
  for (const group of [...groups, "g4"]) {
    expect(created.get(group).map((user) => user.facts)).toEqual(retained.get(group).map((user) => user.facts));
    expect([...created.idsOf(group)]).toEqual([...retained.idsOf(group)]);
  }
});

test("an index of members contains changed, new and no removed users, and is built once for few changes", () => {
  const userOf = (index: number, groups: readonly string[]) => {
    const user = facts.users[index];
    if (user === undefined) throw new Error("the tenant has too few users");
    return new CompiledUser({ ...user, groups });
  };
  const entry = (user: CompiledUser) => [user.facts.id, user] as const;
  const before = Table.of([0, 1, 2, 3].map((index) => entry(userOf(index, ["g1"]))));
  finish(indexingUsers(before));
  const gone = facts.users[3]?.id ?? "";
  const after = before.with([entry(userOf(1, ["g2"])), entry(userOf(4, ["g1", "g2"])), [gone, undefined]]);
  const index = finish(indexingUsers(after));
  const isChanged = vi.spyOn(after.changed, "has");
  const [first] = index.idsOf("g1");
  expect([first, isChanged.mock.calls.length]).toEqual([facts.users[0]?.id, 1]);
  expect([...index.idsOf("g1")]).toEqual([0, 2, 4].map((place) => facts.users[place]?.id));
  expect(index.get("g2").map((user) => user.facts.id)).toEqual([1, 4].map((place) => facts.users[place]?.id));
  expect(finish(indexingUsers(before)).get("g1")).toHaveLength(4);
});

test("two callers share the work of building an index", () => {
  const users = Table.of(facts.users.map((user) => [user.id, new CompiledUser({ ...user, groups: ["g1"] })] as const));
  const first = indexingUsers(users);
  first.next();
  const costs = [...indexingUsers(users)];
  expect([...first].length).toBeLessThanOrEqual(2);
  expect(costs.length).toBeGreaterThan(facts.users.length / 500);
});

test("a table is merged in short steps, and keeps the order of its entries", () => {
  const table = Table.of(ids.map((id, index) => [id, index] as const));
  const changes = new Map<string, number | undefined>(ids.slice(0, 2_000).map((id, index) => [id, -index]));
  changes.set(ids[5] ?? "", undefined).set("new", 1);
  const steps = table.changing(changes);
  const costs: number[] = [];
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) costs.push(step.value);
  expect(Math.max(...costs)).toBeLessThanOrEqual(mostUnitsAtOnce);
  expect(costs.length).toBeGreaterThan(5);
  const expected = ids.flatMap((_id, index) => (index === 5 ? [] : [index < 2_000 ? -index : index]));
  expect([...step.value.values()]).toEqual([...expected, 1]);
  expect(step.value.size).toBe(count);
  expect(table.get(ids[5] ?? "")).toBe(5);
});

test.each(["PRIVATE", "INTERNET"] as const)(
  "long lists of sources in %s policies count, and are compiled in short steps",
  (type) => {
    const named = 400;
    const policies = ids
      .slice(0, 100)
      .map((id, index) =>
        policyOf(id, { type, allResources: type === "PRIVATE", users: ids.slice(index, index + named) }),
      );
    const costs = costsOf(PolicyList.compiling(type, policies));
    // Each policy is compiled, and then indexed.
    const everything = 2 * policies.length * (recordCost + named * referenceCost);
    expect(costs.reduce((sum, cost) => sum + cost, 0)).toBeGreaterThanOrEqual(everything);
    expect(Math.max(...costs)).toBeLessThanOrEqual(mostUnitsAtOnce);
  },
);

test("the directory of addresses finds names and wildcards", () => {
  const resources = ids.map((id, index) => ({
    id,
    name: id,
    type: "PRIVATE" as const,
    loadBalancingMode: "MANUAL" as const,
    addresses: [`host-${index}.example.com`, `10.${index >> 8}.${index & 255}.0/24`, `*.zone-${index}.example.com`].map(
      (address) => ({ address, protocols: [] }),
    ),
    gateways: [],
  }));
  const table = Table.of(resources.map((resource) => [resource.id, new CompiledResource(resource)] as const));
  const directory = finish(AddressDirectory.compiling(table));
  expect(directory.ofHost("host-7.example.com")).toMatchObject([{ resourceId: ids[7] }]);
  expect(directory.ofHost("a.zone-7.example.com")).toMatchObject([{ resourceId: ids[7] }]);
});

test("the directory of addresses finds many resources at one address, before and after changes", () => {
  const resourceOf = (index: number, addresses: readonly string[]) =>
    new CompiledResource({
      id: ids[index] ?? "",
      name: "",
      type: "PRIVATE",
      loadBalancingMode: "MANUAL",
      addresses: addresses.map((address) => ({ address, protocols: [{ protocol: "TCP", port: String(index + 1) }] })),
      gateways: [],
    });
  const entry = (resource: CompiledResource) => [resource.id, resource] as const;
  // Large tables are not indexed again after a few changes.
  const resources = ids.slice(0, 200).map((_, index) => resourceOf(index, ["192.0.2.1", `host-${index}.example.com`]));
  const before = Table.of(resources.toReversed().map(entry));
  const directory = finish(AddressDirectory.compiling(before));
  const idsAt = (of: AddressDirectory) => of.atAddress("192.0.2.1/32").same.map(({ resourceId }) => resourceId);
  expect(idsAt(directory)).toEqual(ids.slice(0, 200));
  expect(directory.ofHost("host-7.example.com")).toMatchObject([{ resourceId: ids[7], offers: [[{ first: 8 }]] }]);
  for (const count of [3, 150]) {
    const changed = resources.slice(0, count).map((_, index) => resourceOf(index, [`moved-${index}.example.com`]));
    const after = before.with(changed.map(entry));
    const facts = (of: readonly CompiledResource[]) => of.map((resource) => resource.facts);
    const next = finish(directory.changing(facts(resources.slice(0, count)), facts(changed), after));
    expect(idsAt(next)).toEqual(ids.slice(count, 200));
    expect(next.ofHost("host-1.example.com")).toEqual([]);
    expect(next.ofHost("moved-1.example.com")).toMatchObject([{ resourceId: ids[1] }]);
  }
});
