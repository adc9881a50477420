import type {
  AccessExplanation,
  ConsideredPolicy,
  MissingAccessFact,
  NamedRecord,
  RuleCondition,
  SharedAddress as SharedAddressView,
} from "@gatehouse/contract/records/decision";
import type { Explanation } from "@gatehouse/policy/decisions/explain";
import type { MissingFact } from "@gatehouse/policy/decisions/missing-facts";
import type { PolicyTrace, SourceMatch } from "@gatehouse/policy/decisions/policy-trace";
import type { ConditionTrace, ObservedValue } from "@gatehouse/policy/decisions/rule-trace";
import type { SharedAddress } from "@gatehouse/policy/decisions/shared-addresses";
import type { Model } from "@gatehouse/policy/model/model";
import { momentView } from "./decision.view.ts";

/** The number of policies that an explanation shows at most, and of entries in its lists. */
const shownPolicies = 200;
const shownEntries = 100;
const shownCharacters = 500;

/** An explanation as the API shows it: with names, and short enough to read. */
export function explanationView(explanation: Explanation, model: Model): AccessExplanation {
  const { policies, nearestMiss, changesAt, sharedAddresses, divertedAddresses } = explanation;
  const about = policies.filter(({ destinationMet }) => destinationMet).slice(0, shownPolicies);
  return {
    policies: about.map((trace) => policyView(trace, model)),
    otherPolicies: policies.length - about.length,
    ...(changesAt === undefined ? {} : { changesAt: momentView(changesAt) }),
    ...(sharedAddresses.length === 0 ? {} : { sharedAddresses: sharedAddresses.map(sharedAddressView) }),
    ...(divertedAddresses.length === 0 ? {} : { divertedAddresses: [...divertedAddresses] }),
    ...(nearestMiss === undefined
      ? {}
      : {
          nearestMiss: {
            ...(nearestMiss.policy === undefined ? {} : { policy: nearestMiss.policy }),
            missing: nearestMiss.missing.slice(0, shownEntries).flatMap((fact) => missingView(fact, model)),
          },
        }),
  };
}

export function sharedAddressView({ address, resource, resources, enclosing }: SharedAddress): SharedAddressView {
  return { address, resource, resources: [...resources], enclosing: [...enclosing] };
}

function policyView(trace: PolicyTrace, model: Model): ConsideredPolicy {
  const { policy, action, outcome, sourceMatches, sourceAddressMet, rule } = trace;
  return {
    policy,
    action,
    outcome,
    sourceMatches: sourceMatches.slice(0, shownEntries).map((match) => matchView(match, model)),
    sourceAddressMet,
    ...(rule === undefined
      ? {}
      : { rule: { id: rule.id, name: rule.name, conditions: conditionViews(rule.condition, 0) } }),
  };
}

function matchView(match: SourceMatch, model: Model): ConsideredPolicy["sourceMatches"][number] {
  if (!("id" in match)) return { kind: match.kind };
  const { kind, id } = match;
  return { kind, id, name: namesOf[kind](model, id) ?? id };
}

const namesOf = {
  user: (model: Model, id: string) => model.users.get(id)?.facts.email,
  group: (model: Model, id: string) => model.groups.get(id)?.name,
  device: (model: Model, id: string) => model.devices.get(id)?.facts.name,
} as const;

/** The existing records with their names; deleted records are left out. */
function named(kind: keyof typeof namesOf, ids: readonly string[], model: Model): NamedRecord[] {
  return ids.slice(0, shownEntries).flatMap((id) => {
    const name = namesOf[kind](model, id);
    return name === undefined ? [] : [{ id, name }];
  });
}

/** A condition followed by its parts, depth first. */
function conditionViews(condition: ConditionTrace, depth: number): RuleCondition[] {
  const { parts = [] } = condition;
  return [conditionView(condition, depth), ...parts.flatMap((part) => conditionViews(part, depth + 1))];
}

function conditionView({ text, met, error, operator, values = [] }: ConditionTrace, depth: number): RuleCondition {
  return {
    depth,
    text,
    ...(met === undefined ? {} : { met }),
    ...(error === undefined ? {} : { error }),
    ...(operator === undefined ? {} : { operator }),
    values: values.slice(0, shownEntries).map(valueView),
  };
}

function valueView({ name, value, error }: ObservedValue): RuleCondition["values"][number] {
  if (error !== undefined) return { name, error };
  return value === undefined ? { name } : { name, value: valueText(value) };
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value, (_key, part) =>
    part instanceof Map ? Object.fromEntries(part) : typeof part === "bigint" ? String(part) : part,
  );
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
}

function missingView(fact: MissingFact, model: Model): MissingAccessFact[] {
  switch (fact.kind) {
    case "subject":
    case "destination":
      return [{ kind: fact.kind, reason: fact.reason }];
    case "denied-by":
      return [{ kind: fact.kind, policy: fact.policy }];
    case "source":
      return [
        {
          kind: fact.kind,
          anyGroup: fact.anyGroup,
          anyDevice: fact.anyDevice,
          groups: named("group", fact.groups, model),
          users: named("user", fact.users, model),
          devices: named("device", fact.devices, model),
        },
      ];
    case "source-address":
      return [{ kind: fact.kind, sourceIps: fact.sourceIps.slice(0, shownEntries) }];
    case "condition":
      return [{ kind: fact.kind, condition: conditionView(fact.condition, 0), negated: fact.negated }];
    // If no change of facts helps, the nearest miss is absent.
    case "never":
      return [];
  }
}
