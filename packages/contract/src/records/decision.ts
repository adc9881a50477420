import Type, { type Static } from "typebox";
import { closedObject, component, oneOf, Timestamp } from "../schema.ts";
import { policyModes } from "./policy.ts";

/** Reasons for a decision. The values are stable, because clients compare them. */
export const decisionReasons = [
  /** A policy allows the request. */
  "allowed_by_policy",
  /** A policy allows the request, but none of the gateways that may carry it is reachable now. */
  "no_reachable_gateway",
  /** A policy denies the request. */
  "denied_by_policy",
  /** An INTERNET policy in mode RESTRICTED blocks the request. */
  "restricted_by_policy",
  /** The request meets the admission rule of no applicable policy. */
  "no_policy_allows",
  "unknown_user",
  "user_inactive",
  "user_pending",
  "unknown_device",
  "device_without_user",
  "device_of_another_user",
  "device_inactive",
  /** The device's session has ended. Its user has to sign in again on the device. */
  "device_session_ended",
  "unknown_gateway",
  "unknown_resource",
  /** The destination is neither an IP address nor a host name. */
  "invalid_address",
  /** The traffic enters at a site, and its destination belongs to no resource. */
  "no_resource",
  /** The address belongs to a resource that does not offer the requested protocol and port. */
  "protocol_not_offered",
] as const;

/** Reasons why a request is denied before any policy is evaluated. */
export const requestReasons = [
  "unknown_action",
  "unknown_subject_type",
  "unknown_resource_type",
  "invalid_evaluation",
] as const;

export const accessReasons = [...decisionReasons, ...requestReasons] as const;
export type AccessReason = (typeof accessReasons)[number];

const Reason = oneOf(accessReasons);

/** A record's name as stored. Responses are not validated against the name's pattern again. */
export const NamedRecord = component("NamedRecord", "A record that a response refers to.", {
  id: Type.String(),
  name: Type.String(),
});
export type NamedRecord = Static<typeof NamedRecord>;

export const policyOutcomes = [
  "decided",
  "not_asked",
  "inactive",
  "source_not_met",
  "destination_not_met",
  "source_address_not_met",
  "rule_not_met",
] as const;

export const sourceMatchKinds = [
  "anyone",
  "all-users",
  "all-groups",
  "all-devices",
  "user",
  "group",
  "device",
] as const;

export const RuleCondition = component("RuleCondition", "A condition of an admission rule with its result.", {
  depth: Type.Integer({
    minimum: 0,
    description:
      "Nesting depth: 0 for the whole rule, 1 for its parts, and so on. A condition is followed by its parts.",
  }),
  text: Type.String(),
  met: Type.Optional(Type.Boolean({ description: "Whether the condition is met; omitted if the evaluation failed." })),
  error: Type.Optional(Type.String()),
  operator: Type.Optional(
    oneOf(["all", "any", "not"], { description: "How the condition combines its parts; omitted if it has none." }),
  ),
  values: Type.Array(
    closedObject({
      name: Type.String({ description: "The variable as written in the rule, such as `user.department`." }),
      value: Type.Optional(
        Type.String({ description: "The value as JSON, truncated; omitted if the variable has no value." }),
      ),
      error: Type.Optional(Type.String()),
    }),
    { description: "Values that the condition read." },
  ),
});
export type RuleCondition = Static<typeof RuleCondition>;

export const ConsideredPolicy = component("ConsideredPolicy", "The outcome of a policy that was considered.", {
  policy: NamedRecord,
  action: Type.Boolean({ description: "Whether the policy allows access." }),
  outcome: oneOf(policyOutcomes),
  sourceMatches: Type.Array(
    closedObject({
      kind: oneOf(sourceMatchKinds),
      id: Type.Optional(Type.String()),
      name: Type.Optional(Type.String()),
    }),
    { description: "Entries of the policy's source that match the subject; empty if none does." },
  ),
  sourceAddressMet: Type.Boolean(),
  rule: Type.Optional(closedObject({ id: Type.String(), name: Type.String(), conditions: Type.Array(RuleCondition) })),
});
export type ConsideredPolicy = Static<typeof ConsideredPolicy>;

export const missingFactKinds = [
  "subject",
  "destination",
  "denied-by",
  "source",
  "source-address",
  "condition",
] as const;

const named = (description: string) => Type.Optional(Type.Array(NamedRecord, { description }));

export const MissingAccessFact = component(
  "MissingAccessFact",
  "A fact that is not true but would have to be. Each list contains at most 100 entries.",
  {
    kind: oneOf(missingFactKinds),
    reason: Type.Optional(Reason),
    policy: Type.Optional(NamedRecord),
    anyGroup: Type.Optional(Type.Boolean({ description: "A user in any group would match." })),
    anyDevice: Type.Optional(Type.Boolean({ description: "Any device would match." })),
    groups: named("The user would have to be in one of these groups."),
    users: named("The user would have to be one of these."),
    devices: named("The device would have to be one of these."),
    sourceIps: Type.Optional(
      Type.Array(Type.String(), { description: "The source address would have to be one of these." }),
    ),
    condition: Type.Optional(RuleCondition),
    negated: Type.Optional(Type.Boolean({ description: "Whether the condition would have to be false." })),
  },
);
export type MissingAccessFact = Static<typeof MissingAccessFact>;

export const SharedAddress = component("SharedAddress", "An address that overlaps addresses of other resources.", {
  address: Type.String(),
  resource: NamedRecord,
  resources: Type.Array(NamedRecord, {
    description:
      "The resources that have this address and offer common protocols and ports, in the order of creation. A connection goes to the first of them that offers its protocol and port, and policies for that resource decide. Empty if only one resource has the address; at most 20.",
  }),
  enclosing: Type.Array(NamedRecord, {
    description:
      "In a preview: other resources with a block or a wildcard that contains the address. Connections to the address no longer go to them. At most 20.",
  }),
});
export type SharedAddress = Static<typeof SharedAddress>;

export const DivertedAddress = component(
  "DivertedAddress",
  "An address of the destination whose packets devices send to a gateway that does not carry the destination.",
  {
    address: Type.String(),
    routedFor: closedObject(
      { id: Type.String(), name: Type.String() },
      { description: "The earliest created resource with the address. Its gateways receive the packets." },
    ),
  },
);
export type DivertedAddress = Static<typeof DivertedAddress>;

export const AccessExplanation = component("AccessExplanation", "The explanation of a decision.", {
  policies: Type.Array(ConsideredPolicy, {
    description: "Policies that concern the destination, in order of evaluation; at most 200.",
  }),
  otherPolicies: Type.Integer({
    description: "Number of other policies of the type: those for other destinations, and those after the first 200.",
  }),
  changesAt: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description:
        "The next time at which access begins or ends through the passage of time alone. Omitted if none was found. For rules on hours and days, the search covers eight days.",
    }),
  ),
  sharedAddresses: Type.Optional(
    Type.Array(SharedAddress, {
      description: "Addresses of the destination that several resources have; omitted if there are none. At most 20.",
    }),
  ),
  divertedAddresses: Type.Optional(
    Type.Array(DivertedAddress, {
      description:
        "For an allowed request: addresses at which the destination is unreachable. No gateway in service carries both the destination and the earlier created resources that the subject may reach at the address. Omitted if there are none. At most 20; at most 64 other resources are considered.",
    }),
  ),
  nearestMiss: Type.Optional(
    closedObject(
      { policy: Type.Optional(NamedRecord), missing: Type.Array(MissingAccessFact) },
      {
        description:
          "For a denial: the smallest set of facts that would have led to access, and the policy that would then allow it.",
      },
    ),
  ),
});
export type AccessExplanation = Static<typeof AccessExplanation>;

const contextFields = {
  reason: Reason,
  reasons: Type.Array(Reason, { description: "The reason, followed by further reasons." }),
  policy: Type.Optional(NamedRecord),
  resource: Type.Optional(NamedRecord),
  gateways: Type.Optional(
    Type.Array(NamedRecord, { description: "Gateways that may carry the traffic now, in the order to try." }),
  ),
  mode: Type.Optional(oneOf(policyModes, { description: "How internet traffic is handled." })),
  validUntil: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description:
        "Until this time, the decision does not change through the passage of time alone. Omitted if it never does.",
    }),
  ),
};

export const DecisionContext = component("DecisionContext", "The reasons and consequences of a decision.", {
  ...contextFields,
  explanation: Type.Optional(AccessExplanation),
  error: Type.Optional(
    Type.String({ description: "For `invalid_evaluation`: the field of the evaluation and what is wrong with it." }),
  ),
});
export type DecisionContext = Static<typeof DecisionContext>;

export const AccessDecision = component("AccessDecision", "A decision (AuthZEN Authorization API 1.0).", {
  decision: Type.Boolean(),
  context: DecisionContext,
});
export type AccessDecision = Static<typeof AccessDecision>;

export const AccessDecisions = component("AccessDecisions", "Decisions in the order of the evaluations.", {
  evaluations: Type.Array(AccessDecision),
});
export type AccessDecisions = Static<typeof AccessDecisions>;

/** A search result with the decision that allows it. */
export const FoundAccess = component("FoundAccess", "A search result with its decision.", {
  id: Type.String(),
  name: Type.String({ description: "The record's name; for a user, the email address." }),
  ...contextFields,
});
export type FoundAccess = Static<typeof FoundAccess>;
