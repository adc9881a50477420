import { type DeviceRule, everyDevice } from "@gatehouse/agent-protocol/gateway/configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { ClassDefinition } from "./access-classes.ts";
import { deviceRules, type TimedStep } from "./gateway-rules.ts";

/** What policies say of a resource, or of the internet without one. */
export interface CachedPlan {
  /** What the plan was made from; the same again gives the same plan. */
  readonly madeFrom: readonly unknown[];
  readonly resource: CompiledResource | undefined;
  readonly deviceSteps: readonly TimedStep[];
  readonly siteSteps: readonly TimedStep[];
  readonly gateways: ReadonlySet<string>;
  /** The classes that its rules name, at whichever gateway. */
  readonly definitions: readonly ClassDefinition[];
  /** Its rules for devices at each gateway that was asked for. */
  readonly rulesAt: Map<string, readonly DeviceRule[]>;
  readonly exactUntil: number;
}

/** The plan for devices as one gateway has to know it. */
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
  /** Those that rules name, in order; some may have no members. */
  readonly named: readonly string[];
  /** Those of rules that allow. */
  readonly allowed: readonly string[];
  readonly allowsEveryone: boolean;
}

export function classKeysAt(plans: readonly CachedPlan[], gatewayId: string): ClassKeys {
  const named = new Set<string>();
  const allowed = new Set<string>();
  for (const plan of plans) {
    for (const { action, classes } of rulesOf(plan, gatewayId)) {
      for (const key of classes) {
        named.add(key);
        if (action === "allow") allowed.add(key);
      }
    }
  }
  const allowsEveryone = allowed.delete(everyDevice);
  named.delete(everyDevice);
  return { named: [...named].sort(), allowed: [...allowed].sort(), allowsEveryone };
}
