import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import type { CompiledPolicy } from "../model/compiled-policy.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { FactChange, FactsByKind } from "../model/facts.ts";
import { usersByGroup } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import type { PolicyList } from "../model/policy-list.ts";
import { mayAllow } from "./access-level.ts";
import { type MergedPolicy, mergedPolicies } from "./merged-policies.ts";
import { inputsOf } from "./open-rule.ts";
import { haveSameFacts } from "./same-facts.ts";

/** Ids, or everything there is. */
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

/** A resource that is new, gone, or not the same to those who ask for it. */
export interface ChangedResource {
  readonly id: string;
  /** Who may have reached it before, or may reach it now. */
  readonly users: Scope;
}

/** What changes can touch: all whose access is other than before, and perhaps more. */
export interface AffectedAccess {
  readonly policies: Readonly<Record<PolicyType, readonly MergedPolicy[]>>;
  /** The types of policies by which anything can be other than before. */
  readonly types: ReadonlySet<PolicyType>;
  /** Users with all their devices. */
  readonly users: Scope;
  readonly sites: boolean;
  /** What those users and sites may reach otherwise than before, but for the changed resources; ids of resources. */
  readonly destinations: Scope;
  readonly internet: boolean;
  readonly changedResources: readonly ChangedResource[];
  /** Whose access to a resource, or to the internet, can be other than before. */
  usersFor(resourceId: string | undefined): Scope;
}

export function affectedAccess(before: Model, after: Model, changes: readonly FactChange[]): AffectedAccess {
  const changedRules = new Set(
    changedIds(changes, "rule").filter((id) => !haveSameFacts(before.rules.get(id)?.facts, after.rules.get(id)?.facts)),
  );
  const policies = Object.fromEntries(
    policyTypes.map((type) => [type, mergedOf(before.policies[type], after.policies[type], changedRules)]),
  ) as Record<PolicyType, readonly MergedPolicy[]>; // one for each type
  const themselvesChanged = changedUsers(before, after, changes);
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
    for (const { policy, sides } of policies[type]) {
      if (sides === 3) continue;
      types.add(type);
      otherPolicies.push(policy);
      if (type === "SITETOSITE") sites = true;
      else addSources(users, policy, before, after);
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
  const resources = changedResources(before, after, changes);
  return {
    policies,
    types,
    users,
    sites,
    destinations,
    internet,
    changedResources: resources,
    usersFor(resourceId) {
      const own = new Scope();
      own.all = fallbackChanged;
      own.add(themselvesChanged.ids);
      const changed = resources.find(({ id }) => id === resourceId);
      if (changed !== undefined) own.addScope(changed.users);
      for (const policy of otherPolicies) {
        const { type, allResources, resources: named } = policy.facts;
        const isAbout = resourceId === undefined ? type === "INTERNET" : allResources || named.includes(resourceId);
        if (isAbout && type !== "SITETOSITE") addSources(own, policy, before, after);
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

function mergedOf(before: PolicyList, after: PolicyList, changedRules: ReadonlySet<string>): readonly MergedPolicy[] {
  if (before !== after || changedRules.size > 0) return mergedPolicies(before, after, (id) => changedRules.has(id));
  let merged = unchanged.get(after);
  if (merged === undefined) {
    merged = mergedPolicies(after, after, () => false);
    unchanged.set(after, merged);
  }
  return merged;
}

function fallbackAllows({ fallback }: PolicyList): boolean {
  return fallback !== undefined && mayAllow(fallback);
}

function changedUsers(before: Model, after: Model, changes: readonly FactChange[]): Scope {
  const users = new Scope();
  users.add(
    changedIds(changes, "user").filter((id) => !haveSameFacts(before.users.get(id)?.facts, after.users.get(id)?.facts)),
  );
  for (const id of changedIds(changes, "device")) {
    const [was, is] = [before.devices.get(id)?.facts, after.devices.get(id)?.facts];
    if (!haveSameFacts(was, is)) users.add([was?.userId, is?.userId].filter((userId) => typeof userId === "string"));
  }
  for (const id of changedIds(changes, "group")) {
    if (haveSameFacts(before.groups.get(id), after.groups.get(id))) continue;
    for (const model of [before, after]) users.add(membersOf(model, id));
  }
  return users;
}

function* membersOf({ users }: Model, groupId: string): Iterable<string> {
  for (const { facts } of usersByGroup(users).get(groupId) ?? []) yield facts.id;
}

/** All users whom a policy may apply to, with some device at least. */
function addSources(users: Scope, policy: CompiledPolicy, before: Model, after: Model): void {
  const { facts, forAnyone } = policy;
  if (forAnyone || facts.allGroups || facts.allDevices) users.all = true;
  if (users.all) return;
  users.add(facts.users);
  for (const id of facts.groups) {
    users.add(membersOf(after, id));
    if (before.users !== after.users) users.add(membersOf(before, id));
  }
  for (const id of facts.devices) {
    const owners = [before, after].map(({ devices }) => devices.get(id)?.userId);
    users.add(owners.filter((userId) => typeof userId === "string"));
  }
}

function changedResources(before: Model, after: Model, changes: readonly FactChange[]): readonly ChangedResource[] {
  return changedIds(changes, "resource").flatMap((id) => {
    const [was, is] = [before.resources.get(id), after.resources.get(id)];
    if (was?.type === is?.type) {
      const isSame = was?.facts.name === is?.facts.name;
      if (isSame || (!isAskedFor(before, was) && !isAskedFor(after, is))) return [];
    }
    const users = new Scope();
    for (const [model, resource] of [[before, was] as const, [after, is] as const]) {
      if (resource === undefined) continue;
      if (fallbackAllows(model.policies[resource.type])) users.all = true;
      for (const policy of candidatesFor(model.policies[resource.type], resource)) {
        if (mayAllow(policy)) addSources(users, policy, before, after);
      }
    }
    return [{ id, users }];
  });
}

/** Whether a rule may give another answer because of a resource's name. */
function isAskedFor(model: Model, resource: CompiledResource | undefined): boolean {
  if (resource === undefined) return false;
  return [model.policies[resource.type], model.policies.SITETOSITE].some((list) =>
    candidatesFor(list, resource).some((policy) => {
      const rule = policy.ruleIn(model.rules);
      return rule !== undefined && inputsOf(rule).resource;
    }),
  );
}

function candidatesFor(list: PolicyList, resource: CompiledResource): readonly CompiledPolicy[] {
  return [...list.everywhere.policies, ...(list.byResource.get(resource.facts.id)?.policies ?? [])];
}
