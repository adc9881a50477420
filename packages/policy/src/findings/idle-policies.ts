import type { IdleReason } from "@gatehouse/contract/records/access-findings";
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { canBeMet } from "../effects/open-rule.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { ResourceFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { recordCost, recordsAtOnce, type Work } from "../work.ts";
import { type ActiveSources, coversSources, type PossibleSources } from "./possible-sources.ts";

/** An active policy that never decides or never allows anything. */
export interface IdlePolicy {
  readonly policy: CompiledPolicy;
  readonly reason: IdleReason;
  /** The earlier policy that always decides instead, if that is the reason. */
  readonly by?: CompiledPolicy;
}

/** The maximum number of earlier policies to compare with, for each source. */
const maxCompared = 100;

/**
 * Finds active policies that never have an effect, by type and in the order of evaluation. Each finding is certain for
 * the current facts. Not every idle policy is found, for example one that several earlier policies hide together.
 * Default policies are not checked.
 *
 * @param now milliseconds since 1970, because a rule may have ended
 * @returns yields after each policy, with the finding if there is one, and otherwise the units of cost that were spent
 */
export function* idlePolicies(
  model: Model,
  sources: PossibleSources,
  now: number,
): Generator<IdlePolicy | undefined | number, void> {
  const gateways = yield* gatewaysByType(model);
  for (const type of policyTypes) {
    const asked: Asked = { model, now, gateways: gateways.get(type) };
    const earlier = new EarlierPolicies();
    for (const policy of model.policies[type].policies) {
      if (!policy.facts.active || policy.facts.isDefault) continue;
      const live = yield* sources.of(policy);
      const named = yield* namedResources(policy, model);
      const reason = reasonOf(policy, live, named, asked);
      const by = reason === undefined && live !== undefined ? earlier.hiding(policy, live, named) : undefined;
      if (reason !== undefined) yield { policy, reason };
      else if (by !== undefined) yield { policy, reason: "hidden", by };
      else yield undefined;
      if (live !== undefined && decidesAlways(policy, model)) earlier.add(policy, new Set(named.map(({ id }) => id)));
    }
  }
}

interface Asked {
  readonly model: Model;
  readonly now: number;
  /** Gateways of all resources of the type. Undefined if there are no such resources. */
  readonly gateways: ReadonlySet<string> | undefined;
}

/** The gateways of all resources, by the types of the policies that may concern them. */
function* gatewaysByType(model: Model): Work<ReadonlyMap<PolicyType, ReadonlySet<string>>> {
  const byType = new Map<PolicyType, Set<string>>();
  let unpaid = 0;
  for (const resource of model.resources.values()) {
    unpaid += recordCost + resource.decodingCost;
    const { facts } = resource;
    for (const type of [facts.type, "SITETOSITE"] as const) {
      const gateways = byType.get(type) ?? new Set();
      byType.set(type, gateways);
      for (const id of facts.gateways) gateways.add(id);
    }
    if (unpaid < recordsAtOnce * recordCost) continue;
    yield unpaid;
    unpaid = 0;
  }
  yield unpaid;
  return byType;
}

function reasonOf(
  policy: CompiledPolicy,
  live: ActiveSources | undefined,
  named: readonly ResourceFacts[],
  { model, now, gateways }: Asked,
): IdleReason | undefined {
  const { type, action, allResources } = policy.facts;
  if (live === undefined) return namesSources(policy) ? "sources_cannot_ask" : "no_sources";
  // INTERNET policies also decide about addresses of no resource.
  if (type !== "INTERNET" && !(allResources ? gateways !== undefined : named.length > 0)) return "no_resources";
  const rule = policy.ruleIn(model.rules);
  if (action && (rule === undefined || !canBeMet(rule, now))) return "rule_never_met";
  if (!action || type === "INTERNET" || policy.facts.gateways.length === 0) return undefined;
  const usable = allResources ? gateways : gatewaysOf(named);
  const leads = policy.facts.gateways.some((id) => usable?.has(id) === true && model.gateways.get(id) !== undefined);
  return leads ? undefined : "no_gateways";
}

function namesSources({ facts, users, groups, devices }: CompiledPolicy): boolean {
  const { type, allUsers, allGroups, allDevices } = facts;
  return type === "SITETOSITE" || allUsers || allGroups || allDevices || users.size + groups.size + devices.size > 0;
}

/** Resources the policy names that exist and are of its type. */
function* namedResources({ facts }: CompiledPolicy, model: Model): Work<readonly ResourceFacts[]> {
  const named: ResourceFacts[] = [];
  let unpaid = 0;
  for (const id of new Set(facts.resources)) {
    const found = model.resources.get(id);
    unpaid += recordCost + (found?.decodingCost ?? 0);
    const resource = found?.facts;
    const isOfType = facts.type === "SITETOSITE" || resource?.type === facts.type;
    if (resource !== undefined && isOfType) named.push(resource);
    if (unpaid < recordsAtOnce * recordCost) continue;
    yield unpaid;
    unpaid = 0;
  }
  yield unpaid;
  return named;
}

function gatewaysOf(resources: readonly ResourceFacts[]): ReadonlySet<string> {
  return new Set(resources.flatMap(({ gateways }) => gateways));
}

/** Whether the policy decides about everything to which it applies. */
export function decidesAlways(policy: CompiledPolicy, model: Model): boolean {
  if (policy.hasSourceIps) return false;
  return !policy.facts.action || policy.ruleIn(model.rules)?.facts.type === "ALLOW";
}

interface Earlier {
  readonly policy: CompiledPolicy;
  readonly resources: ReadonlySet<string>;
}

/** Policies that always decide, indexed by source. */
class EarlierPolicies {
  readonly #bySource = new Map<string, Earlier[]>();

  add(policy: CompiledPolicy, resources: ReadonlySet<string>): void {
    for (const key of keysOf(policy)) {
      const list = this.#bySource.get(key);
      if (list === undefined) this.#bySource.set(key, [{ policy, resources }]);
      else if (list.length < maxCompared) list.push({ policy, resources });
    }
  }

  /** An earlier policy that applies wherever the given policy applies. */
  hiding(policy: CompiledPolicy, live: ActiveSources, named: readonly ResourceFacts[]): CompiledPolicy | undefined {
    for (const key of ["everyone", ...keysThatCover(live)]) {
      for (const { policy: earlier, resources } of this.#bySource.get(key) ?? []) {
        const { allResources } = earlier.facts;
        if (!allResources && (policy.facts.allResources || !named.every(({ id }) => resources.has(id)))) continue;
        if (coversSources(earlier, live)) return earlier;
      }
    }
    return undefined;
  }
}

function keysOf({ forAnyone, facts, users, groups, devices }: CompiledPolicy): readonly string[] {
  if (forAnyone) return ["everyone"];
  const { allGroups, allDevices } = facts;
  return [...(allGroups ? ["groups"] : []), ...(allDevices ? ["devices"] : []), ...users, ...groups, ...devices];
}

/** Index keys under which a covering policy is found. A policy that covers all sources covers the first of them. */
function keysThatCover({ everyone, anyGroup, anyDevice, users, groups, devices }: ActiveSources): readonly string[] {
  const [user, group, device] = [users[0], groups[0], devices[0]];
  if (everyone) return [];
  if (anyGroup) return ["groups"];
  if (anyDevice) return ["devices"];
  if (user !== undefined) return [user];
  if (group !== undefined) return ["groups", group];
  return device === undefined ? [] : ["devices", device];
}
