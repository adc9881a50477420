import type { RuleContext } from "../admission-rules/evaluate-rule.ts";
import { Candidates } from "../decisions/candidates.ts";
import { policyTypeFor } from "../decisions/decide.ts";
import type { Destination, Subject } from "../decisions/request.ts";
import { resolveDestination } from "../decisions/resolve-destination.ts";
import { resolvePrincipal } from "../decisions/resolve-principal.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { type KnownCircumstances, knownCircumstances, type OpenCircumstances } from "./open-circumstances.ts";
import { type Certainty, certaintyOf } from "./open-rule.ts";

/**
 * What a subject may reach, over all circumstances that are open: "always" is allowed whatever they are, "never" denied whatever they
 * are. "sometimes" is everything else, and may be said where a cleverer analysis would know better; the other two are certain.
 * Where nothing is open, there is no "sometimes".
 */
export type AccessLevel = "never" | "sometimes" | "always";

/** A level, and the policies that make it so. */
export interface AccessEvaluation {
  readonly level: AccessLevel;
  /** The first policy that may allow. */
  readonly allowing?: CompiledPolicy | undefined;
  /** The first policy that may deny, or restrict; absent where that is for want of a policy. */
  readonly denying?: CompiledPolicy | undefined;
}

/** The level of a subject's access to a destination. With all circumstances given, "always" and "never" are what `decide` says. */
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
  return evaluateAccess(
    model,
    principal,
    reached.resource,
    knownCircumstances(circumstances),
    overridesOf(model, subject, principal),
  ).level;
}

/** Variables of admission rules, in place of those that the model has. */
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
 * Goes through the policies as a decision does (contract, "Policy evaluation", steps 3 and 4), past each that may or may not qualify.
 *
 * @param principal active
 */
export function evaluateAccess(
  model: Model,
  principal: Principal,
  resource: CompiledResource | undefined,
  circumstances: KnownCircumstances,
  overrides?: VariableOverrides,
): AccessEvaluation {
  const type = policyTypeFor(principal, resource);
  if (type === undefined) return { level: "never" };
  const list = model.policies[type];
  const candidates = Candidates.of(list, principal, resource);
  let context: RuleContext | undefined;
  let allowing: CompiledPolicy | undefined;
  let denying: CompiledPolicy | undefined;
  for (let policy = candidates?.next(); policy !== undefined; policy = candidates?.next()) {
    let certainty = sourceCertainty(policy, circumstances);
    if (certainty === "no") continue;
    if (policy.facts.action) {
      context ??= contextOf(model, principal, resource, circumstances, overrides);
      certainty = least(certainty, ruleCertainty(model, policy, context, circumstances));
      if (certainty === "no") continue;
    }
    if (mayAllow(policy)) allowing ??= policy;
    else denying ??= policy;
    if (certainty === "yes") return weighed(allowing, denying, denying !== undefined);
  }
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

/** Whether a policy that decides allows: RESTRICTED ones of INTERNET do not. */
export function mayAllow({ facts }: CompiledPolicy): boolean {
  return facts.action && !(facts.type === "INTERNET" && facts.mode === "RESTRICTED");
}

/** Whether a policy applies to where requests come from. */
export function sourceCertainty(policy: CompiledPolicy, { open, sourceIp }: KnownCircumstances): Certainty {
  if (!policy.hasSourceIps) return "yes";
  if (open.sourceIp) return "perhaps";
  return policy.appliesToSourceIp(sourceIp) ? "yes" : "no";
}

function ruleCertainty(
  { rules }: Model,
  policy: CompiledPolicy,
  context: RuleContext,
  { open }: KnownCircumstances,
): Certainty {
  const rule = policy.ruleIn(rules);
  return rule === undefined ? "no" : certaintyOf(rule, context, open);
}

function least(one: Certainty, other: Certainty): Certainty {
  if (one === "no" || other === "no") return "no";
  return one === "perhaps" ? one : other;
}

/** What rules are evaluated with, without what is open. */
export function contextOf(
  { users, groups, devices }: Model,
  { userId, deviceId }: Pick<Principal, "userId" | "deviceId">,
  resource: CompiledResource | undefined,
  { source, now }: KnownCircumstances,
  overrides?: VariableOverrides,
): RuleContext {
  return {
    user: overrides?.user ?? users.get(userId)?.forRulesIn(groups),
    device: overrides?.device ?? (deviceId === undefined ? undefined : devices.get(deviceId)?.forRules),
    source,
    resource: resource?.forRules,
    now,
  };
}
