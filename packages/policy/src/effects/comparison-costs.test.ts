import { expect, test } from "vitest";
import type { DeviceFacts, FactChange, UserFacts } from "../model/facts.ts";
import { compile, update } from "../model/model.ts";
import { comparingAccess } from "./compare-access.ts";

const userOf = (number: number, more: Partial<UserFacts> = {}): UserFacts => ({
  id: `user-${number}`,
  email: `user-${number}@example.com`,
  firstName: "Ada",
  lastName: "Ahrens",
  status: "active",
  attributes: {},
  groups: ["group"],
  ...more,
});

const deviceOf = (number: number): DeviceFacts => ({
  id: `device-${number}`,
  userId: `user-${number}`,
  active: true,
  name: "Laptop",
  os: "",
  osVersion: "",
  appVersion: "",
  hardwareId: "",
  tags: [],
  agent: true,
  posture: {},
  session: null,
  sessionEndsAt: null,
});

/** The costs of comparing consecutive changes of a tenant, in rule-cost units. */
function costsOf(size: number, changes: readonly FactChange[]): readonly number[] {
  const numbers = Array.from({ length: size }, (_, number) => number);
  let model = compile({
    users: numbers.map((number) => userOf(number)),
    groups: [{ id: "group", name: "Group" }],
    devices: numbers.map(deviceOf),
    gateways: [],
    resources: [],
    rules: [],
    policies: [],
  });
  return changes.map((change) => {
    const after = update(model, [change]);
    let cost = 0;
    for (const spent of comparingAccess(model, after, [change], {})) cost += spent;
    model = after;
    return cost;
  });
}

test("comparing single changes costs the same in a tenant of any size, once its members are indexed", () => {
  const changes: readonly FactChange[] = [
    { kind: "group", facts: { id: "first", name: "First" } },
    { kind: "user", facts: userOf(1, { firstName: "New" }) },
    { kind: "group", facts: { id: "second", name: "Second" } },
    { kind: "user", facts: userOf(2, { groups: ["group", "second"] }) },
    { kind: "device", facts: { ...deviceOf(3), name: "New" } },
    { kind: "device", gone: "device-4" },
    { kind: "user", facts: userOf(-1) },
    { kind: "user", gone: "user-5" },
    { kind: "group", gone: "second" },
  ];
  const [small, large] = [costsOf(200, changes), costsOf(20_000, changes)];
  // The first new group indexes the users, and the first changed user indexes the devices.
  expect(large.slice(2)).toEqual(small.slice(2));
});
