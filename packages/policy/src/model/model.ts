import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { entriesAtOnce, entryCost, finish, recordCost, recordsAtOnce, type Work } from "../work.ts";
import { AddressDirectory } from "./address-directory.ts";
import { CompiledDevice } from "./compiled-device.ts";
import { CompiledResource } from "./compiled-resource.ts";
import { CompiledRule } from "./compiled-rule.ts";
import { CompiledUser } from "./compiled-user.ts";
import type {
  FactChange,
  FactsByKind,
  GatewayFacts,
  GroupFacts,
  PolicyFacts,
  ResourceFacts,
  TenantFacts,
} from "./facts.ts";
import { PolicyList } from "./policy-list.ts";
import { Table } from "./table.ts";

/**
 * A tenant's facts, prepared for decisions. Immutable: a change creates a new model that shares all unchanged parts.
 */
export interface Model {
  readonly users: Table<CompiledUser>;
  readonly groups: Table<GroupFacts>;
  readonly devices: Table<CompiledDevice>;
  readonly gateways: Table<GatewayFacts>;
  readonly resources: Table<CompiledResource>;
  readonly rules: Table<CompiledRule>;
  readonly policies: Readonly<Record<PolicyType, PolicyList>>;
  readonly addresses: AddressDirectory;
}

/** The kinds of which there can be too many for objects. */
export type LargeKind = "users" | "devices" | "resources";

/** Prepares a tenant's facts for decisions. */
export function compile(facts: TenantFacts): Model {
  return finish(compiling(facts));
}

/** Compiles a model, as work that can be suspended between some records. */
export function* compiling(facts: TenantFacts): Work<Model> {
  const users = yield* compilingTable(facts.users, (user) => [user.id, new CompiledUser(user)]);
  const devices = yield* compilingTable(facts.devices, (device) => [device.id, new CompiledDevice(device)]);
  const resources = yield* compilingTable(facts.resources, (resource) => [resource.id, new CompiledResource(resource)]);
  return yield* compilingAround({ users, devices, resources }, facts);
}

/** Compiles a model around tables that can be too large to be objects. */
export function* compilingAround(
  { users, devices, resources }: Pick<Model, LargeKind>,
  facts: Omit<TenantFacts, LargeKind>,
): Work<Model> {
  const rules = yield* compilingTable(facts.rules, (rule) => [rule.id, new CompiledRule(rule)]);
  const lists = new Map<PolicyType, PolicyList>();
  for (const type of policyTypes) {
    const ofType = facts.policies.filter((policy) => policy.type === type);
    lists.set(type, yield* PolicyList.compiling(type, ofType));
  }
  return {
    users,
    groups: yield* compilingTable(facts.groups, (group) => [group.id, group]),
    devices,
    gateways: yield* compilingTable(facts.gateways, (gateway) => [gateway.id, gateway]),
    resources,
    rules,
    policies: policyLists((type) => lists.get(type) ?? PolicyList.of(type, [])),
    addresses: yield* AddressDirectory.compiling(resources),
  };
}

/** Builds a table, as work that can be suspended between two records. */
export function* compilingTable<Facts, Value>(
  facts: Iterable<Facts>,
  entryOf: (facts: Facts) => readonly [key: string, value: Value],
): Work<Table<Value>> {
  const entries = new Map<string, Value>();
  for (const one of facts) {
    const [key, value] = entryOf(one);
    entries.set(key, value);
    if (entries.size % recordsAtOnce === 0) yield recordsAtOnce * recordCost;
  }
  return Table.ofMap(entries);
}

/** Applies changes in order. The result equals a model compiled from the new facts. */
export function update(model: Model, changes: readonly FactChange[]): Model {
  return finish(updating(model, changes));
}

/** Updates a model like `update`, as work that can be suspended between some records. */
export function* updating(model: Model, changes: readonly FactChange[]): Work<Model> {
  let updated = model;
  for (let start = 0; start < changes.length; ) {
    const kind = changes[start]?.kind;
    let end = start + 1;
    while (end < changes.length && changes[end]?.kind === kind) end += 1;
    updated = yield* withChangesOfKind(updated, changes.slice(start, end));
    start = end;
  }
  return updated;
}

/** Applies changes of one kind. Each change of a table copies its overlay, so a table is changed once. */
function* withChangesOfKind(model: Model, changes: readonly FactChange[]): Work<Model> {
  const kind = changes[0]?.kind;
  switch (kind) {
    case undefined:
      return model;
    case "policy":
    case "policy-order": {
      if (changes.length > maxPolicyChanges) return { ...model, policies: yield* recompilingPolicies(model, changes) };
      let changed = model;
      for (const change of changes) changed = yield* withPolicyChange(changed, change);
      return changed;
    }
    case "user": {
      const users = yield* entriesOf(changes, kind, (user) => new CompiledUser(user));
      return { ...model, users: yield* model.users.changing(users) };
    }
    case "group": {
      const groups = yield* entriesOf(changes, kind, (group) => group);
      return { ...model, groups: yield* model.groups.changing(groups) };
    }
    case "device": {
      const devices = yield* entriesOf(changes, kind, (device) => new CompiledDevice(device));
      return { ...model, devices: yield* model.devices.changing(devices) };
    }
    case "gateway": {
      const gateways = yield* entriesOf(changes, kind, (gateway) => gateway);
      return { ...model, gateways: yield* model.gateways.changing(gateways) };
    }
    case "resource":
      return yield* withResources(model, yield* entriesOf(changes, kind, (resource) => resource));
    case "rule": {
      const rules = yield* entriesOf(changes, kind, (rule) => new CompiledRule(rule));
      return { ...model, rules: yield* model.rules.changing(rules) };
    }
  }
}

/** After more changes, the lists are compiled again, because each change of a policy copies the list of its type. */
const maxPolicyChanges = 1_000;

function* recompilingPolicies({ policies }: Model, changes: readonly FactChange[]): Work<Model["policies"]> {
  const byType = new Map(policyTypes.map((type) => [type, new Map<string, PolicyFacts>()]));
  let unpaid = 0;
  for (const [type, facts] of byType) {
    for (const policy of policies[type].policies) {
      facts.set(policy.facts.id, policy.facts);
      unpaid += 1;
      if (unpaid < entriesAtOnce) continue;
      yield unpaid * entryCost;
      unpaid = 0;
    }
  }
  for (const change of changes) {
    if (change.kind === "policy-order") yield* movingToEnd(byType.get(change.type), change.ids);
    else if (change.kind === "policy") {
      if ("gone" in change) for (const facts of byType.values()) facts.delete(change.gone);
      else byType.get(change.facts.type)?.set(change.facts.id, change.facts);
    }
    unpaid += 1;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  const lists = new Map<PolicyType, PolicyList>();
  for (const [type, facts] of byType) lists.set(type, yield* PolicyList.compiling(type, [...facts.values()]));
  return policyLists((type) => lists.get(type) ?? policies[type]);
}

function* movingToEnd(facts: Map<string, PolicyFacts> | undefined, ids: readonly string[]): Work<void> {
  let unpaid = 0;
  for (const id of ids) {
    const policy = facts?.get(id);
    if (policy !== undefined) {
      facts?.delete(id);
      facts?.set(id, policy);
    }
    unpaid += 1;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
}

/** The last value of each changed record of a kind; undefined for a deleted one. */
function* entriesOf<Kind extends keyof FactsByKind, Value>(
  changes: readonly FactChange[],
  kind: Kind,
  compiled: (facts: FactsByKind[Kind]) => Value,
): Work<ReadonlyMap<string, Value | undefined>> {
  const entries = new Map<string, Value | undefined>();
  let unpaid = 0;
  for (const change of changes) {
    if (unpaid === recordsAtOnce) {
      yield unpaid * recordCost;
      unpaid = 0;
    }
    unpaid += 1;
    if (change.kind !== kind) continue;
    if ("gone" in change) entries.set(change.gone, undefined);
    else if ("facts" in change) entries.set(change.facts.id, compiled(change.facts as FactsByKind[Kind])); // facts of this kind
  }
  return entries;
}

function* withPolicyChange(model: Model, change: FactChange): Work<Model> {
  if (change.kind === "policy-order") {
    const list = yield* model.policies[change.type].ordering(change.ids);
    return { ...model, policies: { ...model.policies, [change.type]: list } };
  }
  if (change.kind !== "policy") return model;
  if ("gone" in change) {
    const lists = new Map<PolicyType, PolicyList>();
    for (const type of policyTypes) lists.set(type, yield* model.policies[type].removing(change.gone));
    return { ...model, policies: policyLists((type) => lists.get(type) ?? model.policies[type]) };
  }
  const { facts } = change;
  const list = yield* model.policies[facts.type].adding(facts);
  return { ...model, policies: { ...model.policies, [facts.type]: list } };
}

function* withResources(model: Model, entries: ReadonlyMap<string, ResourceFacts | undefined>): Work<Model> {
  const before: ResourceFacts[] = [];
  const after: ResourceFacts[] = [];
  const compiled = new Map<string, CompiledResource | undefined>();
  let unpaid = 0;
  for (const [id, facts] of entries) {
    const former = model.resources.get(id);
    unpaid += recordCost + (former?.decodingCost ?? 0);
    if (former !== undefined) before.push(former.facts);
    if (facts !== undefined) after.push(facts);
    compiled.set(id, facts === undefined ? undefined : new CompiledResource(facts));
    if (unpaid < recordsAtOnce * recordCost) continue;
    yield unpaid;
    unpaid = 0;
  }
  const resources = yield* model.resources.changing(compiled);
  return { ...model, resources, addresses: yield* model.addresses.changing(before, after, resources) };
}

function policyLists(listOf: (type: PolicyType) => PolicyList): Model["policies"] {
  return Object.fromEntries(policyTypes.map((type) => [type, listOf(type)])) as Model["policies"]; // one for each type
}
