/** The facts that a model was made from, and what of them differs. */
import { policyTypes } from "@gatehouse/contract/records/policy";
import type { FactChange, FactsByKind, TenantFacts } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";

/** What finds the facts of records in a model. */
export function factsFinder(model: Model): (kind: keyof FactsByKind, id: string) => object | undefined {
  let policies: ReadonlyMap<string, object> | undefined;
  return (kind, id) => {
    switch (kind) {
      case "user":
        return model.users.get(id)?.facts;
      case "group":
        return model.groups.get(id);
      case "device":
        return model.devices.get(id)?.facts;
      case "gateway":
        return model.gateways.get(id);
      case "resource":
        return model.resources.get(id)?.facts;
      case "rule":
        return model.rules.get(id)?.facts;
      case "policy":
        policies ??= new Map(
          policyTypes.flatMap((type) => model.policies[type].policies.map(({ facts }) => [facts.id, facts])),
        );
        return policies.get(id);
    }
  };
}

/** All facts of a model. */
export function factsOf(model: Model): TenantFacts {
  return {
    users: Array.from(model.users.values(), ({ facts }) => facts),
    groups: [...model.groups.values()],
    devices: Array.from(model.devices.values(), ({ facts }) => facts),
    gateways: [...model.gateways.values()],
    resources: Array.from(model.resources.values(), ({ facts }) => facts),
    rules: Array.from(model.rules.values(), ({ facts }) => facts),
    policies: policyTypes.flatMap((type) => model.policies[type].policies.map(({ facts }) => facts)),
  };
}

/** The facts of a model after changes, in their order: what `update` would do one by one, for many of them. */
export function changedFacts(model: Model, changes: readonly FactChange[]): TenantFacts {
  const before = factsOf(model);
  const byKind: { readonly [Kind in keyof FactsByKind]: Map<string, FactsByKind[Kind]> } = {
    user: byId(before.users),
    group: byId(before.groups),
    device: byId(before.devices),
    gateway: byId(before.gateways),
    resource: byId(before.resources),
    rule: byId(before.rules),
    policy: byId(before.policies),
  };
  for (const change of changes) {
    if (change.kind === "policy-order") {
      const { policy } = byKind;
      const inOrder = change.ids.flatMap((id) => policy.get(id) ?? []);
      for (const { id } of inOrder) policy.delete(id);
      for (const facts of inOrder) policy.set(facts.id, facts);
    } else if ("gone" in change) byKind[change.kind].delete(change.gone);
    else (byKind[change.kind] as Map<string, object>).set(change.facts.id, change.facts); // a fact of the map's kind
  }
  return {
    users: [...byKind.user.values()],
    groups: [...byKind.group.values()],
    devices: [...byKind.device.values()],
    gateways: [...byKind.gateway.values()],
    resources: [...byKind.resource.values()],
    rules: [...byKind.rule.values()],
    policies: [...byKind.policy.values()],
  };
}

function byId<Facts extends { readonly id: string }>(facts: readonly Facts[]): Map<string, Facts> {
  return new Map(facts.map((item) => [item.id, item]));
}
