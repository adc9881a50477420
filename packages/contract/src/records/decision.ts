import Type, { type Static } from "typebox";
import { closedObject, component, oneOf, Timestamp } from "../schema.ts";
import { policyModes } from "./policy.ts";

/** Why a decision is what it is. Stable: clients compare them. */
export const decisionReasons = [
  /** A policy allows it. */
  "allowed_by_policy",
  /** Allowed, but none of the gateways that may carry it can be reached now. */
  "no_reachable_gateway",
  /** A policy denies it. */
  "denied_by_policy",
  /** An INTERNET policy in mode RESTRICTED blocks it. */
  "restricted_by_policy",
  /** No policy that applies has its admission rule met. */
  "no_policy_allows",
  "unknown_user",
  "user_inactive",
  "user_pending",
  "unknown_device",
  "device_without_user",
  "device_of_another_user",
  "device_inactive",
  "unknown_gateway",
  "unknown_resource",
  /** The destination is neither an IP address nor a host name. */
  "invalid_address",
  /** Traffic that enters at a site, for an address that no resource has. */
  "no_resource",
  /** The address belongs to a resource, but is not offered on the asked protocol and port. */
  "protocol_not_offered",
] as const;

/** Why a question of another program is denied before any policy is asked. */
export const questionReasons = ["unknown_action", "unknown_subject_type", "unknown_resource_type"] as const;

export const accessReasons = [...decisionReasons, ...questionReasons] as const;
export type AccessReason = (typeof accessReasons)[number];

const Reason = oneOf(accessReasons);

/** Names are told as they are stored; nothing here is checked a second time. */
export const NamedRecord = component("NamedRecord", "A record that an answer speaks of.", {
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

export const RuleCondition = component("RuleCondition", "A condition of an admission rule, and what it gave.", {
  depth: Type.Integer({
    minimum: 0,
    description: "0 for the whole rule, 1 for its parts, 2 for theirs; a condition's parts follow it.",
  }),
  text: Type.String(),
  met: Type.Optional(Type.Boolean({ description: "Absent where the evaluation ended in an error." })),
  error: Type.Optional(Type.String()),
  operator: Type.Optional(
    oneOf(["all", "any", "not"], { description: "Which of its parts must be met; absent where there are none." }),
  ),
  values: Type.Array(
    closedObject({
      name: Type.String({ description: "As the rule writes it: `user.department`." }),
      value: Type.Optional(Type.String({ description: "As JSON, shortened; absent where there is none." })),
      error: Type.Optional(Type.String()),
    }),
    { description: "What the condition saw." },
  ),
});
export type RuleCondition = Static<typeof RuleCondition>;

export const ConsideredPolicy = component("ConsideredPolicy", "What became of a policy that was considered.", {
  policy: NamedRecord,
  action: Type.Boolean({ description: "Whether the policy allows." }),
  outcome: oneOf(policyOutcomes),
  sourceMatches: Type.Array(
    closedObject({
      kind: oneOf(sourceMatchKinds),
      id: Type.Optional(Type.String()),
      name: Type.Optional(Type.String()),
    }),
    { description: "By what the policy's source is met; empty where it is not." },
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
  "Something that is not so, and would have to be. Lists show 100 entries at most.",
  {
    kind: oneOf(missingFactKinds),
    reason: Type.Optional(Reason),
    policy: Type.Optional(NamedRecord),
    anyGroup: Type.Optional(Type.Boolean({ description: "A user in some group would do." })),
    anyDevice: Type.Optional(Type.Boolean({ description: "Any device would do." })),
    groups: named("The user would have to be in one of these."),
    users: named("It would have to be one of these users."),
    devices: named("It would have to be one of these devices."),
    sourceIps: Type.Optional(
      Type.Array(Type.String(), { description: "The request would have to come from one of these." }),
    ),
    condition: Type.Optional(RuleCondition),
    negated: Type.Optional(Type.Boolean({ description: "The condition would have to be not met." })),
  },
);
export type MissingAccessFact = Static<typeof MissingAccessFact>;

export const AccessExplanation = component("AccessExplanation", "How a decision came about.", {
  policies: Type.Array(ConsideredPolicy, {
    description: "Policies about the destination, in the order of evaluation; 200 at most.",
  }),
  otherPolicies: Type.Integer({
    description: "How many more there are of the type: about other destinations, or later.",
  }),
  nearestMiss: Type.Optional(
    closedObject(
      { policy: Type.Optional(NamedRecord), missing: Type.Array(MissingAccessFact) },
      {
        description:
          "For a denial: the fewest facts that would have let it through, and the policy that would then allow it.",
      },
    ),
  ),
});
export type AccessExplanation = Static<typeof AccessExplanation>;

const contextFields = {
  reason: Reason,
  reasons: Type.Array(Reason, { description: "The reason, and what adds to it." }),
  policy: Type.Optional(NamedRecord),
  resource: Type.Optional(NamedRecord),
  gateways: Type.Optional(
    Type.Array(NamedRecord, { description: "Gateways that may carry the traffic now, in the order to try them." }),
  ),
  mode: Type.Optional(oneOf(policyModes, { description: "What happens to internet traffic." })),
  validUntil: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description: "Before this moment, time alone changes nothing. Absent: it never does.",
    }),
  ),
};

export const DecisionContext = component("DecisionContext", "Why a decision is what it is, and what follows from it.", {
  ...contextFields,
  explanation: Type.Optional(AccessExplanation),
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

/** What was found, with the decision that lets it be. */
export const FoundAccess = component("FoundAccess", "Something that was found, and the decision about it.", {
  id: Type.String(),
  name: Type.String({ description: "Of a user, the e-mail address." }),
  ...contextFields,
});
export type FoundAccess = Static<typeof FoundAccess>;
