import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { DecisionReason, Named } from "./decision.ts";
import type { PolicyTrace } from "./policy-trace.ts";
import type { ConditionTrace } from "./rule-trace.ts";

/** A fact that would have to be different for a policy to allow a request. */
export type MissingFact =
  /** The subject may reach nothing, for this reason. */
  | { readonly kind: "subject"; readonly reason: DecisionReason }
  | { readonly kind: "destination"; readonly reason: DecisionReason }
  /** This earlier policy denies. It would have to stop applying. */
  | { readonly kind: "denied-by"; readonly policy: Named }
  /** The user or device would have to be one of these, or the user a member of one of these groups. */
  | {
      readonly kind: "source";
      readonly anyGroup: boolean;
      readonly anyDevice: boolean;
      readonly groups: readonly string[];
      readonly users: readonly string[];
      readonly devices: readonly string[];
    }
  /** The request would have to come from one of these addresses. */
  | { readonly kind: "source-address"; readonly sourceIps: readonly string[] }
  /** This part of the admission rule would have to be met or, if negated, not met. */
  | { readonly kind: "condition"; readonly condition: ConditionTrace; readonly negated: boolean }
  /** No facts make the policy allow the request: its rule is never met or does not exist. */
  | { readonly kind: "never" };

/** The smallest set of facts that a policy lacks to qualify for the request. */
export function missingFacts({ facts }: CompiledPolicy, trace: PolicyTrace): readonly MissingFact[] {
  const missing: MissingFact[] = [];
  if (trace.sourceMatches.length === 0) {
    const { allGroups, allDevices, groups, users, devices } = facts;
    const isForNobody = !allGroups && !allDevices && groups.length + users.length + devices.length === 0;
    if (isForNobody) missing.push({ kind: "never" });
    else missing.push({ kind: "source", anyGroup: allGroups, anyDevice: allDevices, groups, users, devices });
  }
  if (!trace.sourceAddressMet) missing.push({ kind: "source-address", sourceIps: facts.sourceIps });
  if (!facts.action || facts.isDefault) return missing;
  if (trace.rule === undefined) missing.push({ kind: "never" });
  else missing.push(...missingOf(trace.rule.condition, true));
  return missing;
}

/**
 * The smallest set of conditions that would have to give another result.
 *
 * @param wanted the result that the condition would have to give
 */
function missingOf(condition: ConditionTrace, wanted: boolean): readonly MissingFact[] {
  if (condition.met === wanted) return [];
  const { operator, parts = [] } = condition;
  const [only] = parts;
  if (operator === "not" && only !== undefined) return missingOf(only, !wanted);
  // "all" is met if every part is met, and not met if any part is not met. "any" is the reverse.
  if (operator !== undefined) {
    const everyPart = (operator === "all") === wanted;
    const missing = parts.map((part) => missingOf(part, wanted));
    if (everyPart) return missing.flat();
    return missing.reduce((least, other) => (weightOf(other) < weightOf(least) ? other : least), missing[0] ?? []);
  }
  // A literal cannot change.
  if (condition.text === "true" || condition.text === "false") return [{ kind: "never" }];
  return [{ kind: "condition", condition, negated: !wanted }];
}

function weightOf(missing: readonly MissingFact[]): number {
  return missing.some(({ kind }) => kind === "never") ? Number.POSITIVE_INFINITY : missing.length;
}
