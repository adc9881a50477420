import type { IdleReason } from "@gatehouse/contract/records/access-findings";
import { policyTypes } from "@gatehouse/contract/records/policy";
import { canBeMet } from "../effects/open-rule.ts";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { ResourceFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { type ActiveSources, coversSources, type PossibleSources } from "./possible-sources.ts";

/** An active policy that decides about nobody, or lets nobody through. */
export interface IdlePolicy {
  readonly policy: CompiledPolicy;
  readonly reason: IdleReason;
  /** The earlier policy that decides in its place, where that is the reason. */
  readonly by?: CompiledPolicy;
}

/** Earlier policies that are compared with one, for each source by which they are found. */
const maxCompared = 100;

/**
 * Active policies that never decide anything, in the order of their types and of evaluation. What is found is certain, as the tenant is
 * now; there may be more, such as one that several earlier ones hide together. The default policy is no concern of anybody.
 *
 * @param now in milliseconds since 1970: a rule may be over
 * @returns yields after each policy, with what was found
 */
export function* idlePolicies(
  model: Model,
  sources: PossibleSources,
  now: number,
): Generator<IdlePolicy | undefined, void> {
  for (const type of policyTypes) {
    const resources = Array.from(model.resources.values(), ({ facts }) => facts).filter(
      (resource) => type === "SITETOSITE" || resource.type === type,
    );
    const asked: Asked = { model, sources, now, hasResource: resources.length > 0, gateways: gatewaysOf(resources) };
    const earlier = new EarlierPolicies();
    for (const policy of model.policies[type].policies) {
      if (!policy.facts.active || policy.facts.isDefault) continue;
      const live = sources.of(policy);
      const named = namedResources(policy, model);
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
  readonly sources: PossibleSources;
  readonly now: number;
  readonly hasResource: boolean;
  /** Of all resources of the type. */
  readonly gateways: ReadonlySet<string>;
}

function reasonOf(
  policy: CompiledPolicy,
  live: ActiveSources | undefined,
  named: readonly ResourceFacts[],
  { model, now, hasResource, gateways }: Asked,
): IdleReason | undefined {
  const { type, action, allResources } = policy.facts;
  if (live === undefined) return namesSources(policy) ? "sources_cannot_ask" : "no_sources";
  // INTERNET policies decide about addresses of no resource too.
  if (type !== "INTERNET" && !(allResources ? hasResource : named.length > 0)) return "no_resources";
  const rule = policy.ruleIn(model.rules);
  if (action && (rule === undefined || !canBeMet(rule, now))) return "rule_never_met";
  if (!action || type === "INTERNET" || policy.facts.gateways.length === 0) return undefined;
  const usable = allResources ? gateways : gatewaysOf(named);
  const leads = policy.facts.gateways.some((id) => usable.has(id) && model.gateways.get(id) !== undefined);
  return leads ? undefined : "no_gateways";
}

function namesSources({ facts, users, groups, devices }: CompiledPolicy): boolean {
  const { type, allUsers, allGroups, allDevices } = facts;
  return type === "SITETOSITE" || allUsers || allGroups || allDevices || users.size + groups.size + devices.size > 0;
}

/** Those that a policy names, that there are, and that its list is asked about. */
export function namedResources({ facts }: CompiledPolicy, model: Model): readonly ResourceFacts[] {
  return [...new Set(facts.resources)].flatMap((id) => {
    const resource = model.resources.get(id)?.facts;
    return resource !== undefined && (facts.type === "SITETOSITE" || resource.type === facts.type) ? [resource] : [];
  });
}

function gatewaysOf(resources: readonly ResourceFacts[]): ReadonlySet<string> {
  return new Set(resources.flatMap(({ gateways }) => gateways));
}

/** Whether nothing is left to later policies of what a policy applies to. */
export function decidesAlways(policy: CompiledPolicy, model: Model): boolean {
  if (policy.hasSourceIps) return false;
  return !policy.facts.action || policy.ruleIn(model.rules)?.facts.type === "ALLOW";
}

interface Earlier {
  readonly policy: CompiledPolicy;
  readonly resources: ReadonlySet<string>;
}

/** Policies that leave nothing to later ones, found by whom they are about. */
class EarlierPolicies {
  readonly #bySource = new Map<string, Earlier[]>();

  add(policy: CompiledPolicy, resources: ReadonlySet<string>): void {
    for (const key of keysOf(policy)) {
      const list = this.#bySource.get(key);
      if (list === undefined) this.#bySource.set(key, [{ policy, resources }]);
      else if (list.length < maxCompared) list.push({ policy, resources });
    }
  }

  /** An earlier policy that applies wherever this one does. */
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

/** Whoever covers all sources covers the first of them, so it is found under one of these. */
function keysThatCover({ everyone, anyGroup, anyDevice, users, groups, devices }: ActiveSources): readonly string[] {
  const [user, group, device] = [users[0], groups[0], devices[0]];
  if (everyone) return [];
  if (anyGroup) return ["groups"];
  if (anyDevice) return ["devices"];
  if (user !== undefined) return [user];
  if (group !== undefined) return ["groups", group];
  return device === undefined ? [] : ["devices", device];
}
