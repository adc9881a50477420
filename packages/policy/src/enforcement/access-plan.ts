import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Model } from "../model/model.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { dependenciesOf } from "./rule-windows.ts";

/** Whom a step is about: every device, or those of some classes. */
export type Audience =
  | { readonly kind: "everyone" }
  /** Whoever a policy applies to, with nothing asked of them but to be named. */
  | { readonly kind: "named" }
  /** The same, each on conditions of their own. */
  | { readonly kind: "conditional"; readonly resource: CompiledResource | undefined };

/** A policy that may decide about a destination, in its turn. */
export interface PlanStep {
  readonly policy: CompiledPolicy;
  readonly audience: Audience;
  /** The rule whose windows the step has: one that is asked once for everybody. */
  readonly sharedRule: CompiledRule | undefined;
  /** The rule that each device is asked. */
  readonly deviceRule: CompiledRule | undefined;
  /** Whether it cannot be told in advance when the policy decides: then it only ever denies. */
  readonly isUnpredictable: boolean;
  /** Gateways that may carry what the policy allows, whatever their status; empty: it denies, or leaves the traffic elsewhere. */
  readonly gateways: readonly string[];
}

/** The policies about a resource, or about the internet without one, that can decide at all; for devices. */
export function devicePlan(model: Model, resource: CompiledResource | undefined): readonly PlanStep[] {
  const list = model.policies[resource?.type ?? "INTERNET"];
  const steps: PlanStep[] = [];
  for (const policy of policiesAbout(list, resource)) {
    const step = deviceStep(model, policy, resource);
    if (step === undefined) continue;
    steps.push(step);
    // Nothing after it is ever asked.
    if (step.audience.kind === "everyone" && step.sharedRule === undefined) return steps;
  }
  if (list.fallback === undefined) return steps;
  const gateways = gatewaysOf(list.fallback, resource);
  const audience: Audience = { kind: "everyone" };
  return [
    ...steps,
    { policy: list.fallback, audience, sharedRule: undefined, deviceRule: undefined, isUnpredictable: false, gateways },
  ];
}

/** The policies about a resource that can decide about traffic from other sites. */
export function sitePlan(model: Model, resource: CompiledResource): readonly PlanStep[] {
  const steps: PlanStep[] = [];
  for (const policy of policiesAbout(model.policies.SITETOSITE, resource)) {
    const rule = policy.facts.action ? policy.ruleIn(model.rules) : undefined;
    if (policy.facts.action && !canBeMet(rule)) continue;
    // A gateway does not ask rules for each packet.
    const isUnpredictable = rule !== undefined && dependenciesOf(rule).source;
    const gateways = gatewaysOf(policy, resource);
    const sharedRule = rule?.facts.type === "CUSTOM" && !isUnpredictable ? rule : undefined;
    const audience: Audience = { kind: "everyone" };
    steps.push({ policy, audience, sharedRule, deviceRule: undefined, isUnpredictable, gateways });
  }
  return steps;
}

/** Active policies of a list whose destination is met, in order; the default one is not among them. */
function* policiesAbout(list: PolicyList, resource: CompiledResource | undefined): Iterable<CompiledPolicy> {
  const general = resource === undefined ? list.anywhere.policies : list.everywhere.policies;
  const named = resource?.policiesIn(list)?.policies ?? [];
  let next = 0;
  for (const policy of general) {
    for (let other = named[next]; other !== undefined && other.rank < policy.rank; other = named[next]) {
      yield other;
      next += 1;
    }
    yield policy;
  }
  yield* named.slice(next);
}

function deviceStep(
  model: Model,
  policy: CompiledPolicy,
  resource: CompiledResource | undefined,
): PlanStep | undefined {
  const rule = policy.facts.action ? policy.ruleIn(model.rules) : undefined;
  if (policy.facts.action && !canBeMet(rule)) return undefined;
  const custom = rule?.facts.type === "CUSTOM" ? rule : undefined;
  const reads = custom === undefined ? undefined : dependenciesOf(custom);
  const isAskedOfEach = reads?.subject === true;
  const gateways = gatewaysOf(policy, resource);
  if (isAskedOfEach || policy.hasSourceIps) {
    // Two resources share a class unless the rule tells them apart.
    const about = reads?.resource === true ? resource : undefined;
    const audience: Audience = { kind: "conditional", resource: about };
    return { policy, audience, sharedRule: undefined, deviceRule: custom, isUnpredictable: false, gateways };
  }
  const isForAll = policy.forAnyone || policy.facts.allDevices;
  const audience: Audience = { kind: isForAll ? "everyone" : "named" };
  return { policy, audience, sharedRule: custom, deviceRule: undefined, isUnpredictable: false, gateways };
}

/** A rule that there is not, or of type DENY, never is. */
function canBeMet(rule: CompiledRule | undefined): boolean {
  return rule !== undefined && rule.facts.type !== "DENY";
}

/** Contract, "Policy evaluation", steps 4 and 5, without asking for the gateways' status. */
function gatewaysOf({ facts }: CompiledPolicy, resource: CompiledResource | undefined): readonly string[] {
  if (!facts.action) return [];
  const own = resource?.facts.gateways ?? [];
  const isInternet = facts.type === "INTERNET";
  if (isInternet && facts.mode !== "INTERNET_ACCESS_POINT") return [];
  if (isInternet && own.length === 0) return facts.gateways;
  return facts.gateways.length === 0 ? own : own.filter((id) => facts.gateways.includes(id));
}
