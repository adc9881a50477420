/** The facts of a model, and their differences. */
import { policyTypes } from "@gatehouse/contract/records/policy";
import type { FactChange, FactsByKind, TenantFacts } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import { entriesAtOnce, entryCost, type Work } from "@gatehouse/policy/work";

/** Returns a function that finds the facts of a record in a model. */
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

/** All facts of a model, as work that can be suspended between some of them. */
export function* listingFacts(model: Model): Work<TenantFacts> {
  return {
    users: yield* listing(model.users.values(), ({ facts }) => facts),
    groups: yield* listing(model.groups.values(), (group) => group),
    devices: yield* listing(model.devices.values(), ({ facts }) => facts),
    gateways: yield* listing(model.gateways.values(), (gateway) => gateway),
    resources: yield* listing(model.resources.values(), ({ facts }) => facts),
    rules: yield* listing(model.rules.values(), ({ facts }) => facts),
    policies: policyTypes.flatMap((type) => model.policies[type].policies.map(({ facts }) => facts)),
  };
}

/** Converts each item, as work that can be suspended between some of them. */
export function* listing<Item, Result>(items: Iterable<Item>, resultOf: (item: Item) => Result): Work<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(resultOf(item));
    if (results.length % entriesAtOnce === 0) yield entriesAtOnce * entryCost;
  }
  return results;
}

/** The facts of a model after changes, in order. Like `update` for each change, but faster for many of them. */
export function* changingFacts(model: Model, changes: readonly FactChange[]): Work<TenantFacts> {
  const before = yield* listingFacts(model);
  const byKind: { readonly [Kind in keyof FactsByKind]: Map<string, FactsByKind[Kind]> } = {
    user: yield* indexing(before.users),
    group: yield* indexing(before.groups),
    device: yield* indexing(before.devices),
    gateway: yield* indexing(before.gateways),
    resource: yield* indexing(before.resources),
    rule: yield* indexing(before.rules),
    policy: yield* indexing(before.policies),
  };
  let unpaid = 0;
  for (const change of changes) {
    unpaid += 1;
    if (change.kind === "policy-order") {
      const { policy } = byKind;
      const inOrder = change.ids.flatMap((id) => policy.get(id) ?? []);
      for (const { id } of inOrder) policy.delete(id);
      for (const facts of inOrder) policy.set(facts.id, facts);
      unpaid += 3 * change.ids.length;
    } else if ("gone" in change) byKind[change.kind].delete(change.gone);
    else (byKind[change.kind] as Map<string, object>).set(change.facts.id, change.facts); // a fact of this kind
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  const same = <Facts>(facts: Facts) => facts;
  return {
    users: yield* listing(byKind.user.values(), same),
    groups: yield* listing(byKind.group.values(), same),
    devices: yield* listing(byKind.device.values(), same),
    gateways: yield* listing(byKind.gateway.values(), same),
    resources: yield* listing(byKind.resource.values(), same),
    rules: yield* listing(byKind.rule.values(), same),
    policies: yield* listing(byKind.policy.values(), same),
  };
}

function* indexing<Facts extends { readonly id: string }>(facts: readonly Facts[]): Work<Map<string, Facts>> {
  const index = new Map<string, Facts>();
  for (const item of facts) {
    index.set(item.id, item);
    if (index.size % entriesAtOnce === 0) yield entriesAtOnce * entryCost;
  }
  return index;
}
