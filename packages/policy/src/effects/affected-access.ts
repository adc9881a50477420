import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { FactChange, FactsByKind } from "../model/facts.ts";
import { indexingUsers } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { entriesAtOnce, entryCost, recordCost, recordsAtOnce, type Work } from "../work.ts";
import { mayAllow } from "./access-level.ts";
import { type MergedPolicy, mergingPolicies } from "./merged-policies.ts";
import { inputsOf } from "./rule-inputs.ts";
import { haveSameFacts } from "./same-facts.ts";

/** A set of ids, or all ids. */
export class Scope {
  readonly ids = new Set<string>();
  all = false;

  add(ids: Iterable<string>): void {
    if (this.all) return;
    for (const id of ids) this.ids.add(id);
  }

  addScope(other: Scope): void {
    this.all ||= other.all;
    this.add(other.ids);
  }

  has(id: string): boolean {
    return this.all || this.ids.has(id);
  }

  get isEmpty(): boolean {
    return !this.all && this.ids.size === 0;
  }
}

/** A resource that is new or gone, or whose type or name makes a difference to decisions. */
export interface ChangedResource {
  readonly id: string;
  /** Users who may have reached the resource before, or may reach it now. */
  readonly users: Scope;
}

/** A superset of the access that changes can affect. */
export interface AffectedAccess {
  readonly policies: Readonly<Record<PolicyType, readonly MergedPolicy[]>>;
  /** The types of policies whose decisions may differ. */
  readonly types: ReadonlySet<PolicyType>;
  /** Users with all their devices. */
  readonly users: Scope;
  readonly sites: boolean;
  /**
   * Ids of the resources to which these users and sites may have different access, except for the changed resources.
   */
  readonly destinations: Scope;
  readonly internet: boolean;
  readonly changedResources: readonly ChangedResource[];
  /** Finds the users whose access to a resource, or to the internet, may differ. */
  usersFor(resourceId: string | undefined): Work<Scope>;
}

/** Finds the affected access, as work that can be suspended between some changes and policies. */
export function* affectedAccess(before: Model, after: Model, changes: readonly FactChange[]): Work<AffectedAccess> {
  yield changes.length * entryCost;
  const changedRules = new Set(
    changedIds(changes, "rule").filter((id) => !haveSameFacts(before.rules.get(id)?.facts, after.rules.get(id)?.facts)),
  );
  const merged: [PolicyType, readonly MergedPolicy[]][] = [];
  for (const type of policyTypes) {
    merged.push([type, yield* mergedOf(before.policies[type], after.policies[type], changedRules)]);
  }
  const policies = Object.fromEntries(merged) as Record<PolicyType, readonly MergedPolicy[]>; // one for each type
  const themselvesChanged = yield* changedUsers(before, after, changes);
  const users = new Scope();
  users.add(themselvesChanged.ids);
  const otherPolicies: CompiledPolicy[] = [];
  let fallbackChanged = false;
  const destinations = new Scope();
  let sites = changedIds(changes, "gateway").some(
    (id) => (before.gateways.get(id) === undefined) !== (after.gateways.get(id) === undefined),
  );
  let internet = !users.isEmpty;
  destinations.all = sites || internet;
  const types = new Set<PolicyType>(internet ? policyTypes : sites ? ["SITETOSITE"] : []);
  for (const type of policyTypes) {
    yield policies[type].length;
    for (const { policy, sides } of policies[type]) {
      if (sides === 3) continue;
      types.add(type);
      otherPolicies.push(policy);
      if (type === "SITETOSITE") sites = true;
      else yield* addSources(users, policy, before, after);
      if (type === "INTERNET") internet = true;
      if (policy.facts.allResources) destinations.all = true;
      else destinations.add(policy.facts.resources);
    }
    if (fallbackAllows(before.policies[type]) !== fallbackAllows(after.policies[type])) {
      users.all = true;
      destinations.all = true;
      internet = true;
      fallbackChanged = true;
      types.add(type);
    }
  }
  const resources = yield* changedResources(before, after, changes);
  return {
    policies,
    types,
    users,
    sites,
    destinations,
    internet,
    changedResources: resources,
    *usersFor(resourceId) {
      const own = new Scope();
      own.all = fallbackChanged;
      own.add(themselvesChanged.ids);
      const changed = resources.find(({ id }) => id === resourceId);
      if (changed !== undefined) own.addScope(changed.users);
      yield otherPolicies.length * entryCost;
      for (const policy of otherPolicies) {
        const { type, allResources, resources: named } = policy.facts;
        const isAbout = resourceId === undefined ? type === "INTERNET" : allResources || named.includes(resourceId);
        if (isAbout && type !== "SITETOSITE") yield* addSources(own, policy, before, after);
      }
      return own;
    },
  };
}

function changedIds(changes: readonly FactChange[], kind: keyof FactsByKind): readonly string[] {
  const ids = changes.flatMap((change) => {
    if (change.kind !== kind) return [];
    return "gone" in change ? [change.gone] : "facts" in change ? [change.facts.id] : [];
  });
  return [...new Set(ids)];
}

const unchanged = new WeakMap<PolicyList, readonly MergedPolicy[]>();

function* mergedOf(
  before: PolicyList,
  after: PolicyList,
  changedRules: ReadonlySet<string>,
): Work<readonly MergedPolicy[]> {
  if (before !== after || changedRules.size > 0) {
    return yield* mergingPolicies(before, after, (id) => changedRules.has(id));
  }
  const known = unchanged.get(after);
  if (known !== undefined) return known;
  const merged = yield* mergingPolicies(after, after, () => false);
  unchanged.set(after, merged);
  return merged;
}

function fallbackAllows({ fallback }: PolicyList): boolean {
  return fallback !== undefined && mayAllow(fallback);
}

function* changedUsers(before: Model, after: Model, changes: readonly FactChange[]): Work<Scope> {
  const users = new Scope();
  let unpaid = 0;
  for (const id of changedIds(changes, "user")) {
    if (!haveSameFacts(before.users.get(id)?.facts, after.users.get(id)?.facts)) users.add([id]);
    unpaid += recordCost;
    if (unpaid < recordsAtOnce * recordCost) continue;
    yield unpaid;
    unpaid = 0;
  }
  for (const id of changedIds(changes, "device")) {
    const [was, is] = [before.devices.get(id)?.facts, after.devices.get(id)?.facts];
    if (!haveSameFacts(was, is)) users.add([was?.userId, is?.userId].filter((userId) => typeof userId === "string"));
    unpaid += recordCost;
    if (unpaid < recordsAtOnce * recordCost) continue;
    yield unpaid;
    unpaid = 0;
  }
  for (const id of changedIds(changes, "group")) {
    if (haveSameFacts(before.groups.get(id), after.groups.get(id))) continue;
    for (const model of [before, after]) yield* addMembers(users, model, id);
  }
  return users;
}

function* addMembers(users: Scope, model: Model, groupId: string): Work<void> {
  const members = yield* indexingUsers(model.users);
  let some: string[] = [];
  for (const id of members.idsOf(groupId)) {
    some.push(id);
    if (some.length < entriesAtOnce) continue;
    users.add(some);
    yield some.length * entryCost;
    some = [];
  }
  users.add(some);
  yield some.length * entryCost;
}

/** Adds all users to whom a policy may apply with any of their devices. */
function* addSources(users: Scope, policy: CompiledPolicy, before: Model, after: Model): Work<void> {
  const { facts, forAnyone } = policy;
  if (forAnyone || facts.allGroups || facts.allDevices) users.all = true;
  if (users.all) return;
  users.add(facts.users);
  yield (facts.users.length + facts.devices.length) * entryCost;
  for (const id of facts.groups) {
    yield* addMembers(users, after, id);
    if (before.users !== after.users) yield* addMembers(users, before, id);
  }
  for (const id of facts.devices) {
    const owners = [before, after].map(({ devices }) => devices.get(id)?.userId);
    users.add(owners.filter((userId) => typeof userId === "string"));
  }
}

function* changedResources(
  before: Model,
  after: Model,
  changes: readonly FactChange[],
): Work<readonly ChangedResource[]> {
  const resources: ChangedResource[] = [];
  for (const id of changedIds(changes, "resource")) {
    const [was, is] = [before.resources.get(id), after.resources.get(id)];
    if (was?.type === is?.type) {
      if (was?.facts.name === is?.facts.name) continue;
      const isAsked = (yield* isAskedFor(before, was)) || (yield* isAskedFor(after, is));
      if (!isAsked) continue;
    }
    const users = new Scope();
    for (const [model, resource] of [[before, was] as const, [after, is] as const]) {
      if (resource === undefined) continue;
      if (fallbackAllows(model.policies[resource.type])) users.all = true;
      const candidates = candidatesFor(model.policies[resource.type], resource);
      yield candidates.length;
      for (const policy of candidates) if (mayAllow(policy)) yield* addSources(users, policy, before, after);
    }
    resources.push({ id, users });
  }
  return resources;
}

/** Whether a rule about the resource reads the resource's name or type. */
function* isAskedFor(model: Model, resource: CompiledResource | undefined): Work<boolean> {
  if (resource === undefined) return false;
  for (const list of [model.policies[resource.type], model.policies.SITETOSITE]) {
    const candidates = candidatesFor(list, resource);
    yield candidates.length;
    const isAsked = candidates.some((policy) => {
      const rule = policy.ruleIn(model.rules);
      return rule !== undefined && inputsOf(rule).resource;
    });
    if (isAsked) return true;
  }
  return false;
}

function candidatesFor(list: PolicyList, resource: CompiledResource): readonly CompiledPolicy[] {
  return [...list.everywhere.policies, ...(list.byResource.get(resource.id)?.policies ?? [])];
}
