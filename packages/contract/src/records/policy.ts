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

export const Policy = component(
  "Policy",
  "A rule that allows or denies access of subjects to resources under conditions.",
  {
    ...identity,
    name: Name,
    action: Type.Boolean({ description: "True allows access, false denies it." }),
    order: Type.Number({ description: "Position among the policies of the type. Lower numbers are evaluated first." }),
    isDefault: Type.Boolean(),
    active: Type.Boolean({ description: "Whether the policy is evaluated." }),
    type: oneOf(policyTypes),
    mode: Type.Optional(oneOf(policyModes, { description: "How INTERNET policies handle traffic." })),
    allGroups: appliesToAll("groups"),
    allUsers: appliesToAll("users"),
    allDevices: appliesToAll("devices"),
    allResources: appliesToAll("resources"),
    groups: Type.Array(PolicyGroup),
    users: Type.Array(PolicyUser),
    devices: Type.Array(PolicyDevice),
    resources: Type.Array(PolicyResource),
    gateways: Type.Array(Gateway, {
      description: "Gateways that may carry the traffic; empty for all gateways of the resource.",
    }),
    sourceIps: Type.Array(Type.String(), {
      description: "Addresses or CIDRs that requests must come from; empty for any address.",
    }),
    rule: AdmissionRule,
    description: Type.Optional(Description),
  },
);
export type Policy = Static<typeof Policy>;
