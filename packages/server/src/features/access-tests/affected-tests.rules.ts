/**
 * Tests that changes of facts may break. Every write evaluates the enforced tests, and most writes affect few of them.
 */
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import type { FactChange, PolicyFacts } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { TestQuestion } from "./access-tests.queries.ts";

/** The effect of changes on the answers to tests. */
export interface AffectedTests {
  /** Whether the answer may change for any user. */
  affectsAnyone(question: TestQuestion): boolean;
  /** Ids of the users whose answers to any test may change. */
  readonly users: ReadonlySet<string>;
}

/** @param changes all changes from `before` to `after` */
export function affectedTests(before: Model, after: Model, changes: readonly FactChange[]): AffectedTests {
  const users = new Set<string>();
  const resources = new Set<string>();
  const types = new Set<PolicyType>();
  const rules = new Set<string>();
  const policies = new Set<string>();
  let everything = false;
  let addresses = false;
  for (const change of changes) {
    switch (change.kind) {
      case "user":
        users.add(idOf(change));
        break;
      case "device":
        for (const { devices } of [before, after]) {
          const owner = devices.get(idOf(change))?.facts.userId;
          if (owner !== undefined && owner !== null) users.add(owner);
        }
        break;
      // Rules read the names of groups, and policies may name deleted groups.
      case "group":
        everything = true;
        break;
      // Users never connect from a gateway, and the gateway that carries the traffic does not affect the permission.
      case "gateway":
        break;
      case "resource":
        resources.add(idOf(change));
        // Addresses of this resource may now belong to another resource or to none, and the other way round.
        addresses = true;
        break;
      case "rule":
        rules.add(idOf(change));
        break;
      case "policy":
        policies.add(idOf(change));
        break;
      case "policy-order":
        types.add(change.type);
        break;
    }
  }
  if (policies.size + rules.size > 0) {
    for (const policy of [before, after].flatMap((model) => policiesOf(model, policies, rules))) {
      if (policy.allResources || policy.type === "INTERNET") types.add(policy.type);
      else for (const id of policy.resources) resources.add(id);
    }
  }
  const isOfType = (id: string) =>
    [before, after].some((model) => {
      const type = model.resources.get(id)?.type;
      return type !== undefined && types.has(type);
    });
  return {
    users,
    affectsAnyone: ({ resource_type: kind, resource_id: id }) => {
      if (everything) return true;
      // An address can belong to any resource; the test does not say which.
      if (kind === "address") return addresses || types.size + resources.size > 0;
      return resources.has(id) || isOfType(id);
    },
  };
}

function policiesOf(model: Model, ids: ReadonlySet<string>, rules: ReadonlySet<string>): readonly PolicyFacts[] {
  return policyTypes.flatMap((type) =>
    model.policies[type].policies.flatMap(({ facts }) => (ids.has(facts.id) || rules.has(facts.rule) ? [facts] : [])),
  );
}

function idOf(change: Exclude<FactChange, { readonly kind: "policy-order" }>): string {
  return "gone" in change ? change.gone : change.facts.id;
}
