import { describe, expect, test } from "vitest";
import type { DeviceFacts, FactChange, PolicyFacts, TenantFacts } from "../model/facts.ts";
import { compile, update } from "../model/model.ts";
import { plainPolicy } from "../testing/plain-policy.ts";
import { finish } from "../work.ts";
import { mayHaveHiddenGains, onlyEndSessions } from "./hidden-gains.ts";

const user = {
  id: "ann",
  email: "ann@example.com",
  firstName: "",
  lastName: "",
  status: "active",
  groups: ["engineers"],
  attributes: {},
} as const;
const resource = {
  id: "git",
  name: "Git",
  type: "PRIVATE",
  loadBalancingMode: "MANUAL",
  addresses: [{ address: "192.0.2.9", protocols: [{ protocol: "TCP", port: "20-30" }] }],
  gateways: [],
} as const;
const policy = plainPolicy({
  id: "allowing",
  name: "Engineers use Git",
  groups: ["engineers"],
  resources: ["git"],
  sourceIps: ["192.0.2.0/24"],
  rule: "any",
});
const denying = { ...policy, id: "denying", action: false, sourceIps: ["198.51.100.0/24"] };
const facts: TenantFacts = {
  users: [user],
  groups: [
    { id: "engineers", name: "Engineers" },
    { id: "others", name: "Others" },
  ],
  devices: [],
  gateways: [],
  resources: [resource],
  rules: [
    { id: "any", name: "Any", type: "ALLOW", text: null },
    { id: "staff", name: "Staff", type: "CUSTOM", text: "user.staff == true && source.country == 'DE'" },
  ],
  policies: [denying, policy, { ...policy, id: "staff", sourceIps: [], rule: "staff" }],
};
const at = (port: string, address = "192.0.2.9"): FactChange => ({
  kind: "resource",
  facts: { ...resource, addresses: [{ address, protocols: [{ protocol: "TCP", port }] }] },
});
const changed = (fields: Partial<PolicyFacts>, of = policy): FactChange => ({
  kind: "policy",
  facts: { ...of, ...fields },
});

test.each<[string, boolean, FactChange]>([
  ["other source addresses", true, changed({ sourceIps: ["203.0.113.0/24"] })],
  ["some of the source addresses", false, changed({ sourceIps: ["192.0.2.64/26"] })],
  ["an admission rule instead of none", false, changed({ rule: "staff" })],
  ["another text of a rule that reads circumstances", true, ruleText("source.country == 'FR'")],
  ["a text that reads no circumstances", false, ruleText("user.staff == true")],
  ["a new policy", true, changed({ id: "new" })],
  ["a removed policy", false, { kind: "policy", gone: "allowing" }],
  ["an inactive policy", false, changed({ active: false })],
  ["a removed denial", true, { kind: "policy", gone: "denying" }],
  ["a denial for fewer users", true, changed({ groups: [] }, denying)],
  ["fewer users", false, changed({ groups: [] })],
  ["more resources", true, changed({ allResources: true })],
  ["a denial for fewer addresses", true, changed({ sourceIps: ["198.51.100.1"] }, denying)],
  ["a denial for more addresses", false, changed({ sourceIps: ["198.51.100.0/24", "203.0.113.0/24"] }, denying)],
  ["another service", true, at("443")],
  ["fewer services", false, at("22")],
  ["another address", true, at("22", "192.0.2.10")],
  ["a removed resource", false, { kind: "resource", gone: "git" }],
  ["an attribute that such a rule may read", true, { kind: "user", facts: { ...user, attributes: { staff: true } } }],
  ["another group", true, { kind: "user", facts: { ...user, groups: ["others"] } }],
  ["an inactive user", false, { kind: "user", facts: { ...user, status: "inactive" } }],
])("hidden gains of %s: %s", (_what, expected, change) => {
  const before = compile(facts);
  expect(finish(mayHaveHiddenGains(before, update(before, [change]), [change]))).toBe(expected);
});

function ruleText(text: string): FactChange {
  return { kind: "rule", facts: { id: "staff", name: "Staff", type: "CUSTOM", text } };
}

describe("sessions of devices", () => {
  const session = { authenticatedAt: Date.parse("2026-01-15T08:00:00Z"), methods: ["hwk"], provider: null };
  const laptop: DeviceFacts = {
    id: "laptop",
    userId: "ann",
    active: true,
    name: "Laptop",
    os: "",
    osVersion: "",
    appVersion: "",
    hardwareId: "SERIAL-1",
    tags: [],
    agent: true,
    posture: {},
    session,
    sessionEndsAt: Date.parse("2026-01-15T16:00:00Z"),
  };
  const is = (fields: Partial<DeviceFacts>): FactChange => ({ kind: "device", facts: { ...laptop, ...fields } });
  const ended = { session: null, sessionEndsAt: Date.parse("2026-01-15T17:00:00Z") };
  const rules = [
    ...facts.rules,
    { id: "recent", name: "Recent", type: "CUSTOM", text: "session.age < duration('8h')" },
    { id: "no-provider", name: "No provider", type: "CUSTOM", text: "!has(session.provider)" },
  ] as const;
  const recent = { ...policy, id: "recent", rule: "recent" };
  const internet = { ...policy, type: "INTERNET", mode: "RESTRICTED", rule: "no-provider" } as const;
  const restricting = { ...internet, id: "restricting", sourceIps: [] };

  function gains(change: FactChange, policies: readonly PolicyFacts[], device = laptop): boolean {
    const before = compile({ ...facts, devices: [device], rules, policies });
    return finish(mayHaveHiddenGains(before, update(before, [change]), [change]));
  }

  test.each<[string, boolean, FactChange]>([
    ["the end of the session", false, is(ended)],
    ["the end of a session without a lifetime", false, is({ session: null, sessionEndsAt: null })],
    ["the end of the session, and another name", true, is({ ...ended, name: "Desktop" })],
    ["another session", true, is({ session: { ...session, methods: ["pwd"] } })],
    ["an earlier end by time", false, is({ sessionEndsAt: Date.parse("2026-01-15T12:00:00Z") })],
    ["a later end by time", true, is({ sessionEndsAt: Date.parse("2026-01-15T20:00:00Z") })],
    ["no end by time", true, is({ sessionEndsAt: null })],
  ])("hidden gains of %s: %s", (_what, expected, change) => {
    expect(gains(change, [recent, { ...policy, id: "other", rule: "no-provider" }])).toBe(expected);
  });

  test("a new session may give access", () => {
    expect(gains(is({}), [recent], { ...laptop, ...ended })).toBe(true);
  });

  test("the end of a session may lift a restriction by a rule that reads it", () => {
    expect(gains(is(ended), [recent, restricting])).toBe(true);
    expect(gains(is(ended), [recent, { ...restricting, active: false }])).toBe(false);
    expect(gains(is(ended), [recent, { ...restricting, mode: "LOCAL" }])).toBe(false);
    expect(gains(is(ended), [recent, { ...restricting, rule: "staff" }])).toBe(false);
  });

  test.each<[string, boolean, readonly FactChange[]]>([
    ["the end of the session", true, [is(ended)]],
    ["another name of the device", false, [is({ ...ended, name: "Desktop" })]],
    ["another session", false, [is({ session: { ...session, methods: ["pwd"] } })]],
    ["a later end by time", false, [is({ sessionEndsAt: null })]],
    ["a new device", false, [is({ ...ended, id: "new" })]],
    ["a removed device", false, [{ kind: "device", gone: "laptop" }]],
    ["the end of the session, and a change of a policy", false, [is(ended), changed({ active: false })]],
  ])("only ends sessions, %s: %s", (_what, expected, changes) => {
    expect(onlyEndSessions(compile({ ...facts, devices: [laptop] }), changes)).toBe(expected);
  });
});

test("the addresses of a resource are compared one by one", () => {
  const protocols = Array.from({ length: 1_000 }, (_, index) => ({ protocol: "TCP", port: `${1 + index}` }) as const);
  const addresses = Array.from({ length: 10 }, (_, index) => ({ address: `192.0.2.${index}`, protocols }));
  const large = { ...resource, addresses };
  const before = compile({ ...facts, resources: [large] });
  const change: FactChange = { kind: "resource", facts: { ...large, addresses: addresses.slice(1) } };
  const costs = [...mayHaveHiddenGains(before, update(before, [change]), [change])];
  expect(costs.length).toBeGreaterThanOrEqual(change.facts.addresses.length);
});
