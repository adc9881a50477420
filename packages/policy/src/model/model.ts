import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { AddressDirectory } from "./address-directory.ts";
import { CompiledDevice } from "./compiled-device.ts";
import { CompiledResource } from "./compiled-resource.ts";
import { CompiledRule } from "./compiled-rule.ts";
import { CompiledUser } from "./compiled-user.ts";
import type { FactChange, GatewayFacts, GroupFacts, ResourceFacts, TenantFacts } from "./facts.ts";
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

/** Prepares a tenant's facts for decisions. */
export function compile(facts: TenantFacts): Model {
  return {
    users: Table.of(facts.users.map((user) => [user.id, new CompiledUser(user)])),
    groups: byId(facts.groups),
    devices: Table.of(facts.devices.map((device) => [device.id, new CompiledDevice(device)])),
    gateways: byId(facts.gateways),
    resources: Table.of(facts.resources.map((resource) => [resource.id, new CompiledResource(resource)])),
    rules: Table.of(facts.rules.map((rule) => [rule.id, new CompiledRule(rule)])),
    policies: policyLists((type) =>
      PolicyList.of(
        type,
        facts.policies.filter((policy) => policy.type === type),
      ),
    ),
    addresses: AddressDirectory.of(facts.resources),
  };
}

/** Applies changes in order. The result equals a model compiled from the new facts. */
export function update(model: Model, changes: readonly FactChange[]): Model {
  return changes.reduce(updated, model);
}

function updated(model: Model, change: FactChange): Model {
  if (change.kind === "policy-order") {
    const list = model.policies[change.type].inOrder(change.ids);
    return { ...model, policies: { ...model.policies, [change.type]: list } };
  }
  if ("gone" in change) return withoutFacts(model, change.kind, change.gone);
  const { kind, facts } = change;
  const { id } = facts;
  switch (kind) {
    case "user":
      return { ...model, users: model.users.with([[id, new CompiledUser(facts)]]) };
    case "group":
      return { ...model, groups: model.groups.with([[id, facts]]) };
    case "device":
      return { ...model, devices: model.devices.with([[id, new CompiledDevice(facts)]]) };
    case "gateway":
      return { ...model, gateways: model.gateways.with([[id, facts]]) };
    case "resource":
      return withResource(model, id, facts);
    case "rule":
      return { ...model, rules: model.rules.with([[id, new CompiledRule(facts)]]) };
    case "policy":
      return { ...model, policies: { ...model.policies, [facts.type]: model.policies[facts.type].withPolicy(facts) } };
  }
}

function withoutFacts(model: Model, kind: Exclude<FactChange["kind"], "policy-order">, id: string): Model {
  switch (kind) {
    case "user":
      return { ...model, users: model.users.with([[id, undefined]]) };
    case "group":
      return { ...model, groups: model.groups.with([[id, undefined]]) };
    case "device":
      return { ...model, devices: model.devices.with([[id, undefined]]) };
    case "gateway":
      return { ...model, gateways: model.gateways.with([[id, undefined]]) };
    case "resource":
      return withResource(model, id, undefined);
    case "rule":
      return { ...model, rules: model.rules.with([[id, undefined]]) };
    case "policy":
      return { ...model, policies: policyLists((type) => model.policies[type].without(id)) };
  }
}

function withResource(model: Model, id: string, facts: ResourceFacts | undefined): Model {
  const before = model.resources.get(id)?.facts;
  return {
    ...model,
    resources: model.resources.with([[id, facts === undefined ? undefined : new CompiledResource(facts)]]),
    addresses: model.addresses.with(before === undefined ? [] : [before], facts === undefined ? [] : [facts]),
  };
}

function byId<Facts extends { readonly id: string }>(facts: readonly Facts[]): Table<Facts> {
  return Table.of(facts.map((item) => [item.id, item]));
}

function policyLists(listOf: (type: PolicyType) => PolicyList): Model["policies"] {
  return Object.fromEntries(policyTypes.map((type) => [type, listOf(type)])) as Model["policies"]; // one for each type
}
