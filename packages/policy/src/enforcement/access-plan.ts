import { gatewaysOf } from "../decisions/policy-gateways.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { Model } from "../model/model.ts";
import { policiesInOrder } from "../model/policies-in-order.ts";
import { dependenciesOf } from "./rule-windows.ts";

/** The devices to which a step applies: every device, or the members of some classes. */
export type Audience =
  | { readonly kind: "everyone" }
  /** Every device to which the policy applies, without further conditions. */
  | { readonly kind: "named" }
  /** The devices to which the policy applies and that meet conditions of their own. */
  | { readonly kind: "conditional"; readonly resource: CompiledResource | undefined };

/** A policy that may decide about a destination, in the order of evaluation. */
export interface PlanStep {
  readonly policy: CompiledPolicy;
  readonly audience: Audience;
  /** The rule that determines the time windows of the step. It gives the same result for all devices. */
  readonly sharedRule: CompiledRule | undefined;
  /** The rule that is evaluated for each device. */
  readonly deviceRule: CompiledRule | undefined;
  /** Whether the time of the policy's decisions cannot be predicted. Such a policy only denies. */
  readonly isUnpredictable: boolean;
  /**
   * Gateways that may carry the traffic, whatever their status. Empty if the policy denies or sends the traffic
   * elsewhere.
   */
  readonly gateways: readonly string[];
}

/** The policies for devices that can decide about a resource, or about the internet outside any resource. */
export function devicePlan(model: Model, resource: CompiledResource | undefined): readonly PlanStep[] {
  const list = model.policies[resource?.type ?? "INTERNET"];
  const steps: PlanStep[] = [];
  for (const policy of policiesInOrder(list, resource)) {
    const step = deviceStep(model, policy, resource);
    if (step === undefined) continue;
    steps.push(step);
    // No later policy is evaluated.
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

/** The policies that can decide about traffic to a resource from other sites. */
export function sitePlan(model: Model, resource: CompiledResource): readonly PlanStep[] {
  const steps: PlanStep[] = [];
  for (const policy of policiesInOrder(model.policies.SITETOSITE, resource)) {
    const rule = policy.facts.action ? policy.ruleIn(model.rules) : undefined;
    if (policy.facts.action && !canBeMet(rule)) continue;
    // A gateway cannot evaluate rules for each packet.
    const isUnpredictable = rule !== undefined && dependenciesOf(rule).source;
    const gateways = gatewaysOf(policy, resource);
    const sharedRule = rule?.facts.type === "CUSTOM" && !isUnpredictable ? rule : undefined;
    const audience: Audience = { kind: "everyone" };
    steps.push({ policy, audience, sharedRule, deviceRule: undefined, isUnpredictable, gateways });
  }
  return steps;
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
    // Resources share a class unless the rule reads the resource.
    const about = reads?.resource === true ? resource : undefined;
    const audience: Audience = { kind: "conditional", resource: about };
    return { policy, audience, sharedRule: undefined, deviceRule: custom, isUnpredictable: false, gateways };
  }
  const isForAll = policy.forAnyone || policy.facts.allDevices;
  const audience: Audience = { kind: isForAll ? "everyone" : "named" };
  return { policy, audience, sharedRule: custom, deviceRule: undefined, isUnpredictable: false, gateways };
}

/** Whether a rule can be met. A missing rule and a rule of type DENY cannot. */
function canBeMet(rule: CompiledRule | undefined): boolean {
  return rule !== undefined && rule.facts.type !== "DENY";
}
