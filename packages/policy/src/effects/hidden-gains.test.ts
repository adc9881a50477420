import { expect, test } from "vitest";
import type { FactChange, PolicyFacts, TenantFacts } from "../model/facts.ts";
import { compile, update } from "../model/model.ts";
import { mayHaveHiddenGains } from "./hidden-gains.ts";

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
const policy: PolicyFacts = {
  id: "allowing",
  name: "Engineers use Git",
  type: "PRIVATE",
  isDefault: false,
  active: true,
  action: true,
  mode: null,
  allGroups: false,
  allUsers: false,
  allDevices: false,
  allResources: false,
  groups: ["engineers"],
  users: [],
  devices: [],
  resources: ["git"],
  gateways: [],
  sourceIps: ["192.0.2.0/24"],
  rule: "any",
};
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
  ["an admission rule where any request was admitted", false, changed({ rule: "staff" })],
  ["another text of a rule that reads circumstances", true, ruleText("source.country == 'FR'")],
  ["a text that reads none, which levels show", false, ruleText("user.staff == true")],
  ["a policy that comes", true, changed({ id: "new" })],
  ["a policy that goes", false, { kind: "policy", gone: "allowing" }],
  ["a policy that is deactivated", false, changed({ active: false })],
  ["a denial that goes", true, { kind: "policy", gone: "denying" }],
  ["a denial of fewer people", true, changed({ groups: [] }, denying)],
  ["fewer people", false, changed({ groups: [] })],
  ["more resources", true, changed({ allResources: true })],
  ["a denial of fewer addresses", true, changed({ sourceIps: ["198.51.100.1"] }, denying)],
  ["a denial of more addresses", false, changed({ sourceIps: ["198.51.100.0/24", "203.0.113.0/24"] }, denying)],
  ["another service", true, at("443")],
  ["fewer services", false, at("22")],
  ["another address", true, at("22", "192.0.2.10")],
  ["a resource that goes", false, { kind: "resource", gone: "git" }],
  ["an attribute that such a rule may read", true, { kind: "user", facts: { ...user, attributes: { staff: true } } }],
  ["another group", true, { kind: "user", facts: { ...user, groups: ["others"] } }],
  ["somebody who is deactivated", false, { kind: "user", facts: { ...user, status: "inactive" } }],
])("of %s: %s", (_what, expected, change) => {
  const before = compile(facts);
  expect(mayHaveHiddenGains(before, update(before, [change]), [change])).toBe(expected);
});

function ruleText(text: string): FactChange {
  return { kind: "rule", facts: { id: "staff", name: "Staff", type: "CUSTOM", text } };
}
