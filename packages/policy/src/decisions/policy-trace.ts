import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { knownSource } from "../model/source-address.ts";
import { decisionCost, type Work } from "../work.ts";
import { type DecisionInput, ruleContext } from "./decide.ts";
import type { Named } from "./decision.ts";
import { type ConditionTrace, traceRule } from "./rule-trace.ts";

/** The outcome for one policy of the list. */
export type PolicyOutcome =
  /** The policy decided. Later policies were not asked. */
  | "decided"
  /** An earlier policy decided, or the subject or the destination is refused before any policy. */
  | "not_asked"
  | "inactive"
  | "source_not_met"
  | "destination_not_met"
  | "source_address_not_met"
  | "rule_not_met";

/** A way in which the source matches a policy. */
export type SourceMatch =
  | { readonly kind: "anyone" | "all-users" | "all-groups" | "all-devices" }
  | { readonly kind: "user" | "group" | "device"; readonly id: string };

/** One policy with every condition evaluated, even after the first one failed. */
export interface PolicyTrace {
  readonly policy: Named;
  readonly action: boolean;
  readonly outcome: PolicyOutcome;
  readonly destinationMet: boolean;
  /** The parts of the policy's source that match. Empty if the source does not match. */
  readonly sourceMatches: readonly SourceMatch[];
  readonly sourceAddressMet: boolean;
  /** Absent for a policy that denies, and if the rule does not exist. */
  readonly rule?: { readonly id: string; readonly name: string; readonly condition: ConditionTrace };
}

/** Evaluates every condition of one policy. */
export function* tracePolicy(policy: CompiledPolicy, input: DecisionInput): Work<PolicyTrace> {
  yield decisionCost;
  const { model, request, principal, resource } = input;
  const { facts } = policy;
  const sourceIp = knownSource(request.sourceIp);
  const destinationMet =
    facts.isDefault || resource === undefined || facts.allResources || facts.resources.includes(resource.id);
  const sourceMatches = matchesOf(policy, principal, model);
  const sourceAddressMet = facts.isDefault || policy.appliesToSourceIp(sourceIp);
  const rule = facts.action && !facts.isDefault ? policy.ruleIn(model.rules) : undefined;
  const condition = rule === undefined ? undefined : yield* traceRule(rule, ruleContext(input, sourceIp));
  const ruleMet = !facts.action || facts.isDefault || condition?.met === true;
  return {
    policy: policy.named,
    action: facts.action,
    outcome: outcomeOf(policy, { destinationMet, sourceMet: sourceMatches.length > 0, sourceAddressMet, ruleMet }),
    destinationMet,
    sourceMatches,
    sourceAddressMet,
    ...(rule === undefined || condition === undefined
      ? {}
      : { rule: { id: rule.facts.id, name: rule.facts.name, condition } }),
  };
}

function outcomeOf(
  { facts }: CompiledPolicy,
  met: {
    readonly destinationMet: boolean;
    readonly sourceMet: boolean;
    readonly sourceAddressMet: boolean;
    readonly ruleMet: boolean;
  },
): PolicyOutcome {
  if (!facts.active && !facts.isDefault) return "inactive";
  if (!met.destinationMet) return "destination_not_met";
  if (!met.sourceMet) return "source_not_met";
  if (!met.sourceAddressMet) return "source_address_not_met";
  return met.ruleMet ? "decided" : "rule_not_met";
}

function matchesOf(policy: CompiledPolicy, principal: Principal, model: Model): readonly SourceMatch[] {
  const { facts } = policy;
  if (facts.isDefault || facts.type === "SITETOSITE") return [{ kind: "anyone" }];
  const { userId, groupIds, deviceId } = principal;
  const matches: SourceMatch[] = [];
  if (facts.allUsers) matches.push({ kind: "all-users" });
  if (facts.allGroups && groupIds.length > 0) matches.push({ kind: "all-groups" });
  if (facts.allDevices && deviceId !== undefined) matches.push({ kind: "all-devices" });
  if (policy.users.has(userId)) matches.push({ kind: "user", id: userId });
  for (const id of groupIds) {
    if (policy.groups.has(id) && model.groups.get(id) !== undefined) matches.push({ kind: "group", id });
  }
  if (deviceId !== undefined && policy.devices.has(deviceId)) matches.push({ kind: "device", id: deviceId });
  return matches;
}
