import Type, { type Static } from "typebox";
import { component, Description, identity, Name, oneOf } from "../schema.ts";
import { AdmissionRule } from "./admission-rule.ts";
import { PolicyDevice } from "./device.ts";
import { Gateway } from "./gateway.ts";
import { PolicyGroup } from "./group.ts";
import { PolicyResource } from "./resource.ts";
import { PolicyUser } from "./user.ts";

export const policyTypes = ["PRIVATE", "SAAS", "INTERNET", "SITETOSITE"] as const;
export type PolicyType = (typeof policyTypes)[number];

export const policyModes = ["LOCAL", "RESTRICTED", "INTERNET_ACCESS_POINT"] as const;
export type PolicyMode = (typeof policyModes)[number];

const appliesToAll = (what: string) =>
  Type.Boolean({ default: false, description: `Whether the policy applies to all ${what}.` });

export const Policy = component("Policy", "Who may access which resources under which conditions.", {
  ...identity,
  name: Name,
  action: Type.Boolean({ description: "True allows access, false denies it." }),
  order: Type.Number({ description: "Priority among the policies of the type; lower numbers are evaluated first." }),
  isDefault: Type.Boolean(),
  active: Type.Boolean({ description: "An inactive policy is skipped." }),
  type: oneOf(policyTypes),
  mode: Type.Optional(oneOf(policyModes, { description: "What INTERNET policies do with traffic." })),
  allGroups: appliesToAll("groups"),
  allUsers: appliesToAll("users"),
  allDevices: appliesToAll("devices"),
  allResources: appliesToAll("resources"),
  groups: Type.Array(PolicyGroup),
  users: Type.Array(PolicyUser),
  devices: Type.Array(PolicyDevice),
  resources: Type.Array(PolicyResource),
  gateways: Type.Array(Gateway, { description: "Gateways that may be used; empty for all of the resource's." }),
  sourceIps: Type.Array(Type.String(), {
    description: "Addresses or CIDRs that requests must come from; empty for any.",
  }),
  rule: AdmissionRule,
  description: Type.Optional(Description),
});
export type Policy = Static<typeof Policy>;
