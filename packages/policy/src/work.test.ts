import { expect, test } from "vitest";
import { budgeted } from "../../../test/budget.ts";
import { decide, decideBriefly, deciding } from "./decisions/decide.ts";
import { explaining } from "./decisions/explain.ts";
import { checkingExpectation } from "./effects/check-expectation.ts";
import { compareAccess, comparingAccess } from "./effects/compare-access.ts";
import { configuringDevice } from "./enforcement/device-routes.ts";
import { noSources } from "./enforcement/device-sources.ts";
import type { PolicyFacts, TenantFacts } from "./model/facts.ts";
import { compile, update } from "./model/model.ts";
import { checkDecisions } from "./testing/engine-properties.ts";
import { plainPolicy } from "./testing/plain-policy.ts";
import { decisionCost, finish, type Work, yieldAfter } from "./work.ts";

/** Steps of a work, in units of cost. */
function costsOf(work: Work<unknown>): readonly number[] {
  return [...work];
}

const groups = Array.from({ length: 100 }, (_, index) => ({ id: `g${index}`, name: `group-${index}` }));
const users = Array.from({ length: 50 }, (_, index) => ({
  id: `u${index}`,
  email: `u${index}@example.com`,
  firstName: "",
  lastName: "",
  status: "active" as const,
  attributes: { index },
  groups: groups.map(({ id }) => id),
}));
const text = "user.groups.exists(g, ['a', 'b', 'c', 'd', 'e'].exists(h, g == h)) && user.index == 0";

function policy(index: number): PolicyFacts {
  const everything = { allUsers: true, allResources: true };
  return plainPolicy({ id: `p${index}`, name: `Policy ${index}`, ...everything, rule: "slow" });
}

const policies = Array.from({ length: 20 }, (_, index) => policy(index));
const facts: TenantFacts = {
  users,
  groups,
  devices: [],
  gateways: [],
  resources: [{ id: "r", name: "Wiki", type: "PRIVATE", loadBalancingMode: "MANUAL", addresses: [], gateways: [] }],
  rules: [{ id: "slow", name: "Slow", type: "CUSTOM", text }],
  policies,
};
const model = compile(facts);
const request = {
  subject: { kind: "user", userId: "u1" },
  destination: { kind: "resource", resourceId: "r" },
  now: 0,
} as const;

/** One evaluation of the rule. */
const ruleCost = Math.max(...costsOf(deciding(model, request)));

test("decisions in steps follow the contract too", () => {
  const engine = { compile, update, decide: (...args: Parameters<typeof deciding>) => finish(deciding(...args)) };
  expect(checkDecisions(engine, { requests: budgeted(20_000) }).requests).toBeGreaterThanOrEqual(budgeted(20_000));
});

test("brief decisions follow the contract too, unless they are expensive", () => {
  const meter = { spent: 0 };
  const engine = {
    compile,
    update,
    decide: (...args: Parameters<typeof deciding>) => decideBriefly(...args, meter) ?? finish(deciding(...args)),
  };
  expect(checkDecisions(engine, { requests: budgeted(20_000) }).requests).toBeGreaterThanOrEqual(budgeted(20_000));
  expect(meter.spent).toBeGreaterThanOrEqual(budgeted(20_000) * decisionCost);
  const before = meter.spent;
  expect(decideBriefly(model, request, meter)).toBeUndefined();
  expect(meter.spent - before).toBeLessThan(ruleCost + yieldAfter);
});

test("a decision yields between two expensive rules", () => {
  const costs = costsOf(deciding(model, request));
  expect(ruleCost).toBeGreaterThan(yieldAfter);
  expect(costs.length).toBeGreaterThanOrEqual(policies.length);
  expect(Math.max(...costs)).toBeLessThan(ruleCost + yieldAfter);
});

test.each<[string, () => Work<unknown>, number]>([
  [
    "the routes of a device",
    () => {
      const own = { id: "d", name: "Laptop", userId: "u1", active: true, tags: [], agent: true, posture: {} };
      const device = { ...own, os: "", osVersion: "", appVersion: "", hardwareId: "" };
      const routed = { ipv4: "100.64.0.1", ipv6: "fd00::1", sources: noSources, country: null, isPeer: true };
      const inputs = { devices: new Map([["d", routed]]), gateways: new Map() };
      return configuringDevice(update(model, [{ kind: "device", facts: device }]), inputs, "d", 0);
    },
    policies.length,
  ],
  ["an explanation", () => explaining(model, request), policies.length],
  [
    "a comparison",
    () => {
      const after = update(model, [{ kind: "policy", facts: policy(100) }]);
      return comparingAccess(model, after, [{ kind: "policy", facts: policy(100) }], { now: 0 });
    },
    users.length * policies.length,
  ],
  [
    "an access test",
    () =>
      checkingExpectation(model, {
        subject: { kind: "everyone" },
        device: "none",
        destination: { kind: "resource", resourceId: "r" },
        circumstances: { now: 0 },
        expected: "denied",
      }),
    users.length * policies.length,
  ],
])("%s yields between two expensive rules, and counts each of them", (_, start, evaluations) => {
  const costs = costsOf(start());
  expect(Math.max(...costs)).toBeLessThan(2 * ruleCost + 4_000);
  const sum = costs.reduce((total, cost) => total + cost, 0);
  // A comparison evaluates equal rules once for each user.
  expect(sum).toBeGreaterThanOrEqual((Math.min(evaluations, users.length) * ruleCost) / 2);
});

test("the comparison of a large tenant begins in short steps", () => {
  const [member, wiki] = [users[0], facts.resources[0]];
  if (member === undefined || wiki === undefined) throw new Error("the tenant has no records");
  const many = Array.from({ length: 3_000 }, (_, index) => index);
  const large: TenantFacts = {
    ...facts,
    users: many.map((index) => ({ ...member, id: `u${index}`, email: `u${index}@example.com` })),
    resources: many.map((index) => ({ ...wiki, id: `r${index}`, name: `Wiki ${index}` })),
    policies: many.map((index) => ({
      ...policy(index),
      allUsers: false,
      groups: ["g1"],
      allResources: index % 10 === 0,
    })),
  };
  const before = compile(large);
  const changes = large.resources.map((one) => ({
    kind: "resource" as const,
    facts: { ...one, name: `${one.name}!` },
  }));
  const renamed = { kind: "policy" as const, facts: { ...policy(1), name: "Renamed" } };
  const work = comparingAccess(before, update(before, [...changes, renamed]), [...changes, renamed], { now: 0 });
  let most = 0;
  let sum = 0;
  // Before the first user is compared, which evaluates the slow rule.
  for (let step = work.next(); step.done !== true && sum < 500_000; step = work.next()) {
    most = Math.max(most, step.value);
    sum += step.value;
  }
  expect(sum).toBeGreaterThan(100_000);
  expect(most).toBeLessThan(20_000);
});

test("a suspended comparison gives the same result as one that is not", () => {
  const change = { kind: "policy", facts: { ...policy(100), rule: "missing" } } as const;
  const after = update(model, [change]);
  const suspended = comparingAccess(model, after, [change], { now: 0 });
  for (let step = 0; step < 10; step += 1) suspended.next();
  // Other work on the same models.
  decide(after, request);
  const other = compareAccess(model, after, [change], { now: 0 });
  const { gained, lost } = finish(suspended);
  expect({ gained, lost }).toEqual({ gained: other.gained, lost: other.lost });
});

test("an update copies a table once, however many of its records change", () => {
  const model = compile(facts);
  const changes = users.map((user) => ({ kind: "user" as const, facts: { ...user, firstName: "Changed" } }));
  const [first, second] = [update(model, changes), update(model, changes)];
  // Tables are numbered in the order of their creation.
  expect(second.users.generation - first.users.generation).toBe(1);
  expect(Array.from(first.users.values(), (user) => user.facts.firstName)).toEqual(users.map(() => "Changed"));
});
