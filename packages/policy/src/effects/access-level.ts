import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { Candidates } from "../decisions/candidates.ts";
import { policyTypeFor, sessionVariable } from "../decisions/decide.ts";
import type { Destination, Subject } from "../decisions/request.ts";
import { resolveDestination } from "../decisions/resolve-destination.ts";
import { resolvePrincipal } from "../decisions/resolve-principal.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { decisionCost, finish, policyCost, type Work, yieldAfter } from "../work.ts";
import { type KnownCircumstances, knownCircumstances, type OpenCircumstances } from "./open-circumstances.ts";
import { type Certainty, certaintyOf, costOfCertainty } from "./open-rule.ts";

/**
 * A subject's access over all values of the open circumstances. "always" and "never" are certain: every request is
 * allowed or denied. "sometimes" is every other case. It may also be reported if a more precise analysis would find one
 * of the others. If no circumstance is open, "sometimes" does not occur.
 */
export type AccessLevel = "never" | "sometimes" | "always";

/** A level, and the policies that cause it. */
export interface AccessEvaluation {
  readonly level: AccessLevel;
  /** The first policy that may allow. */
  readonly allowing?: CompiledPolicy | undefined;
  /** The first policy that may deny or restrict. Undefined if access is denied because no policy allows it. */
  readonly denying?: CompiledPolicy | undefined;
}

/** The level of a subject's access to a destination. If all circumstances are given, it is the result of `decide`. */
export function accessLevel(
  model: Model,
  subject: Subject,
  destination: Destination,
  circumstances: OpenCircumstances,
): AccessLevel {
  const principal = resolvePrincipal(model, subject);
  if (typeof principal === "string") return "never";
  const reached = resolveDestination(model, destination);
  if (reached.denied !== undefined) return "never";
  return finish(
    evaluatingAccess(
      model,
      principal,
      reached.resource,
      knownCircumstances(circumstances),
      overridesOf(model, subject, principal),
    ),
  ).level;
}

/** Variables of admission rules that replace those of the model. */
export interface VariableOverrides {
  readonly user?: object | undefined;
  readonly device?: object | undefined;
}

function overridesOf(
  { users, groups, devices }: Model,
  subject: Subject,
  { userId, deviceId }: Principal,
): VariableOverrides {
  if (subject.kind === "site") return {};
  const { attributes, posture } = subject;
  const device = deviceId === undefined ? undefined : devices.get(deviceId);
  return {
    user: attributes === undefined ? undefined : users.get(userId)?.forRulesWith(attributes, groups),
    device: posture === undefined ? undefined : device?.forRulesWith(posture),
  };
}

/**
 * Evaluates the policies like a decision (contract, "Policy evaluation", steps 3 and 4), and continues after each
 * policy that perhaps qualifies.
 *
 * @param principal active
 */
export function* evaluatingAccess(
  model: Model,
  principal: Principal,
  resource: CompiledResource | undefined,
  circumstances: KnownCircumstances,
  overrides?: VariableOverrides,
): Work<AccessEvaluation> {
  yield decisionCost;
  const type = policyTypeFor(principal, resource);
  if (type === undefined) return { level: "never" };
  const list = model.policies[type];
  const candidates = Candidates.of(list, principal, resource);
  let context: RuleContext | undefined;
  let allowing: CompiledPolicy | undefined;
  let denying: CompiledPolicy | undefined;
  let spent = 0;
  for (let policy = candidates?.next(); policy !== undefined; policy = candidates?.next()) {
    spent += policyCost;
    if (spent >= yieldAfter) {
      yield spent;
      spent = 0;
    }
    let certainty = sourceCertainty(policy, circumstances);
    if (certainty === "no") continue;
    if (policy.facts.action) {
      const rule = policy.ruleIn(model.rules);
      if (rule?.facts.type === "CUSTOM") {
        context ??= contextOf(model, principal, resource, circumstances, overrides);
        spent += costOfCertainty(rule, context, circumstances.open);
        certainty = least(certainty, certaintyOf(rule, context, circumstances.open));
      } else if (rule?.facts.type !== "ALLOW") continue;
      if (certainty === "no") continue;
    }
    if (mayAllow(policy)) allowing ??= policy;
    else denying ??= policy;
    if (certainty !== "yes") continue;
    yield spent;
    return weighed(allowing, denying, denying !== undefined);
  }
  yield spent;
  const { fallback } = list;
  if (fallback === undefined) return weighed(allowing, denying, true);
  if (mayAllow(fallback)) allowing ??= fallback;
  else denying ??= fallback;
  return weighed(allowing, denying, denying !== undefined);
}

function weighed(
  allowing: CompiledPolicy | undefined,
  denying: CompiledPolicy | undefined,
  isDeniable: boolean,
): AccessEvaluation {
  const level = allowing === undefined ? "never" : isDeniable ? "sometimes" : "always";
  return { level, allowing, denying };
}

/** Whether the policy allows when it decides. A RESTRICTED policy of type INTERNET does not. */
export function mayAllow({ facts }: CompiledPolicy): boolean {
  return facts.action && !(facts.type === "INTERNET" && facts.mode === "RESTRICTED");
}

/** Whether a policy applies to the source address. */
export function sourceCertainty(policy: CompiledPolicy, { open, sourceIp }: KnownCircumstances): Certainty {
  if (!policy.hasSourceIps) return "yes";
  if (open.sourceIp) return "perhaps";
  return policy.appliesToSourceIp(sourceIp) ? "yes" : "no";
}

function least(one: Certainty, other: Certainty): Certainty {
  if (one === "no" || other === "no") return "no";
  return one === "perhaps" ? one : other;
}

/** The variables with which rules are evaluated, without open circumstances. */
export function contextOf(
  model: Model,
  { userId, deviceId }: Pick<Principal, "userId" | "deviceId">,
  resource: CompiledResource | undefined,
  { source, now }: KnownCircumstances,
  overrides?: VariableOverrides,
): RuleContext {
  const { users, groups, devices } = model;
  return {
    user: overrides?.user ?? users.get(userId)?.forRulesIn(groups),
    device: overrides?.device ?? (deviceId === undefined ? undefined : devices.get(deviceId)?.forRules),
    session: sessionVariable(model, { deviceId }),
    source,
    resource: resource?.forRules,
    now,
  };
}
