import Type, { type Static } from "typebox";
import { closedObject, component, oneOf } from "../schema.ts";
import { NamedRecord } from "./decision.ts";
import { policyTypes } from "./policy.ts";

/** Reasons why nobody can reach a resource, in the order in which they are checked. */
export const unreachableReasons = [
  /** The resource has no address with a protocol. */
  "no_addresses",
  "no_gateways",
  /** No gateway of the resource, or none that its policies name, is ONLINE. */
  "gateways_offline",
  /** No active policy allows access to the resource. */
  "no_policies",
  /**
   * Policies allow access, but nobody matches them: earlier policies deny the same subjects, or the policies never
   * decide.
   */
  "policies_let_nobody_in",
] as const;
export type UnreachableReason = (typeof unreachableReasons)[number];

/** Reasons why a policy has no effect, in the order in which they are checked. */
export const idleReasons = [
  /** The policy has no source. */
  "no_sources",
  /** No source can send requests: the groups have no active members, the users and devices are not active. */
  "sources_cannot_ask",
  /** The policy has no resources. */
  "no_resources",
  /** The admission rule can never be met, or never again. */
  "rule_never_met",
  /** None of the policy's gateways serves any of its resources. */
  "no_gateways",
  /** Earlier policies decide every request that the policy would decide. */
  "hidden",
] as const;
export type IdleReason = (typeof idleReasons)[number];

/** The most records of each kind in the report. Further records are only counted. */
export const maxFindings = 100;

/** The numbers of found, examined and existing records. */
const bounds = {
  count: Type.Integer({
    minimum: 0,
    description: `Number of findings. \`first\` contains at most ${maxFindings} of them.`,
  }),
  lookedAt: Type.Integer({ minimum: 0, description: "Number of records that were examined." }),
  total: Type.Integer({
    minimum: 0,
    description: "Number of records in the tenant. Greater than `lookedAt` if the examination reached its time limit.",
  }),
};

const UnreachableResourceFinding = component("UnreachableResource", "A resource that nobody can reach.", {
  id: Type.String(),
  name: Type.String(),
  reason: oneOf(unreachableReasons),
});
export type UnreachableResourceFinding = Static<typeof UnreachableResourceFinding>;

const IdlePolicyFinding = component("IdlePolicy", "An active policy that has no effect.", {
  id: Type.String(),
  name: Type.String(),
  type: oneOf(policyTypes),
  reason: oneOf(idleReasons),
  hiddenBy: Type.Optional(NamedRecord),
});
export type IdlePolicyFinding = Static<typeof IdlePolicyFinding>;

const ClosedAddressFinding = component(
  "ClosedAddress",
  "An address of a private resource in a blocked range. It stays in use, but cannot be entered again.",
  {
    resource: NamedRecord,
    address: Type.String(),
    block: Type.String({
      description: "The blocked range that the address is in, contains or embeds, such as 169.254.0.0/16.",
    }),
  },
);
export type ClosedAddressFinding = Static<typeof ClosedAddressFinding>;

const DivertedAddressFinding = component(
  "AddressWithoutCommonGateway",
  "An address that no gateway carries for both the resource and the resources created earlier. Devices that may reach all of them cannot reach the resource at this address.",
  {
    resource: NamedRecord,
    address: Type.String(),
    routedFor: closedObject(
      { id: Type.String(), name: Type.String() },
      { description: "The earliest created resource with the address. Devices send packets to its gateways." },
    ),
  },
);
export type DivertedAddressFinding = Static<typeof DivertedAddressFinding>;

export const AccessFindings = component("AccessFindings", "Problems of the tenant's resources and policies.", {
  generation: Type.Integer({ minimum: 0, description: "The tenant's generation that was examined." }),
  unreachableResources: Type.Object({ ...bounds, first: Type.Array(UnreachableResourceFinding) }),
  neverMatchingPolicies: Type.Object({ ...bounds, first: Type.Array(IdlePolicyFinding) }),
  closedAddresses: Type.Object({ ...bounds, first: Type.Array(ClosedAddressFinding) }),
  divertedAddresses: Type.Object({ ...bounds, first: Type.Array(DivertedAddressFinding) }),
});
export type AccessFindings = Static<typeof AccessFindings>;
