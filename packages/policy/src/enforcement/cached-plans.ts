import { type DeviceRule, everyDevice } from "@gatehouse/agent-protocol/gateway/configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";
import { entryCost, forEach, type Work } from "../work.ts";
import type { ClassDefinition } from "./access-classes.ts";
import { deviceRules, type TimedStep } from "./gateway-rules.ts";

/** The compiled policies for a resource, or for the internet outside any resource. */
export interface CachedPlan {
  /** The inputs of the plan. Equal inputs give an equal plan. */
  readonly madeFrom: readonly unknown[];
  readonly resource: CompiledResource | undefined;
  readonly deviceSteps: readonly TimedStep[];
  readonly siteSteps: readonly TimedStep[];
  readonly gateways: ReadonlySet<string>;
  /** The classes that the rules of the plan name at any gateway. */
  readonly definitions: readonly ClassDefinition[];
  /** Rules for devices, by the gateways for which they were requested. */
  readonly rulesAt: Map<string, readonly DeviceRule[]>;
  readonly exactUntil: number;
}

/** The rules of a plan for devices at one gateway. */
export function rulesOf({ deviceSteps, rulesAt }: CachedPlan, gatewayId: string): readonly DeviceRule[] {
  let rules = rulesAt.get(gatewayId);
  if (rules === undefined) {
    rules = deviceRules(deviceSteps, gatewayId);
    rulesAt.set(gatewayId, rules);
  }
  return rules;
}

/** The classes that a gateway needs. */
export interface ClassKeys {
  /** Classes that rules name, in order. Some may have no members. */
  readonly named: readonly string[];
  /** Classes that rules with the action "allow" name. */
  readonly allowed: readonly string[];
  readonly allowsEveryone: boolean;
}

/** A plan of a gateway, whose rules and classes are listed. */
export function costOfPlan({ deviceSteps, siteSteps, definitions }: CachedPlan): number {
  return entryCost * (4 + deviceSteps.length + siteSteps.length + definitions.length);
}

export function* findingClassKeys(plans: readonly CachedPlan[], gatewayId: string): Work<ClassKeys> {
  const named = new Set<string>();
  const allowed = new Set<string>();
  yield* forEach(plans, costOfPlan, (plan) => {
    for (const { action, classes } of rulesOf(plan, gatewayId)) {
      for (const key of classes) {
        named.add(key);
        if (action === "allow") allowed.add(key);
      }
    }
  });
  const allowsEveryone = allowed.delete(everyDevice);
  named.delete(everyDevice);
  return { named: [...named].sort(), allowed: [...allowed].sort(), allowsEveryone };
}
