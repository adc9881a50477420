import Type, { type Static } from "typebox";
import { component, oneOf } from "../schema.ts";
import { NamedRecord } from "./decision.ts";
import { policyTypes } from "./policy.ts";

/** Why nobody reaches a resource: what comes first of these. */
export const unreachableReasons = [
  /** It has no address with a protocol. */
  "no_addresses",
  "no_gateways",
  /** None of its gateways, or of those that its policies name, is ONLINE. */
  "gateways_offline",
  /** No active policy that allows is about it. */
  "no_policies",
  /** Policies are, but nobody passes them: others deny the same people before, or they never decide. */
  "policies_let_nobody_in",
] as const;
export type UnreachableReason = (typeof unreachableReasons)[number];

/** Why a policy never decides anything: what comes first of these. */
export const idleReasons = [
  /** It names nobody. */
  "no_sources",
  /** Whoever it names cannot ask: groups without active members, users and devices that are not active. */
  "sources_cannot_ask",
  /** It is about no resource. */
  "no_resources",
  /** Its admission rule can never be met, or never again. */
  "rule_never_met",
  /** It lets nobody through: none of the gateways that it names serves a resource that it is about. */
  "no_gateways",
  /** An earlier policy decides whatever it would. */
  "hidden",
] as const;
export type IdleReason = (typeof idleReasons)[number];

/** Records of each kind that are told; the others are counted. */
export const maxFindings = 100;

/** How much was looked at. */
const bounds = {
  count: Type.Integer({
    minimum: 0,
    description: `How many were found; of these, the first ${maxFindings} are told.`,
  }),
  lookedAt: Type.Integer({ minimum: 0, description: "How many were looked at." }),
  total: Type.Integer({
    minimum: 0,
    description: "How many there are: more than were looked at where it takes too long.",
  }),
};

const UnreachableResourceFinding = component("UnreachableResource", "A resource that nobody reaches.", {
  id: Type.String(),
  name: Type.String(),
  reason: oneOf(unreachableReasons),
});
export type UnreachableResourceFinding = Static<typeof UnreachableResourceFinding>;

const IdlePolicyFinding = component("IdlePolicy", "An active policy that never decides anything.", {
  id: Type.String(),
  name: Type.String(),
  type: oneOf(policyTypes),
  reason: oneOf(idleReasons),
  hiddenBy: Type.Optional(NamedRecord),
});
export type IdlePolicyFinding = Static<typeof IdlePolicyFinding>;

export const AccessFindings = component("AccessFindings", "What does not do what somebody may have meant by it.", {
  generation: Type.Integer({ minimum: 0, description: "The tenant's generation that was looked at." }),
  unreachableResources: Type.Object({ ...bounds, first: Type.Array(UnreachableResourceFinding) }),
  neverMatchingPolicies: Type.Object({ ...bounds, first: Type.Array(IdlePolicyFinding) }),
});
export type AccessFindings = Static<typeof AccessFindings>;
