/** The facts of a model, and their differences. */
import { policyTypes } from "@gatehouse/contract/records/policy";
import type { FactsByKind, TenantFacts } from "@gatehouse/policy/model/facts";
import type { LargeKind, Model } from "@gatehouse/policy/model/model";
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

/** All facts of a model except those that are packed. */
export function* listingOthers(model: Model): Work<Omit<TenantFacts, LargeKind>> {
  return {
    groups: yield* listing(model.groups.values(), (group) => group),
    gateways: yield* listing(model.gateways.values(), (gateway) => gateway),
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
