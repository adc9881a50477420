/**
 * Tests that changes of facts may break. Every write evaluates the enforced tests, and most writes affect few of them.
 */
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { addingUsersOf } from "@gatehouse/policy/effects/possible-subjects";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import type { TestQuestion } from "./access-tests.queries.ts";

/** The effect of changes on the answers to tests. */
export interface AffectedTests {
  /** Ids of the users whose answers to a test may change; "anyone" if these are not known. */
  usersOf(question: TestQuestion): ReadonlySet<string> | "anyone";
}

/** Destinations, and the users whose access to them may change. */
interface Scope {
  readonly users: ReadonlySet<string> | "anyone";
  readonly types: ReadonlySet<PolicyType>;
  readonly resources: ReadonlySet<string>;
  /** Whether addresses may belong to another resource than before. */
  readonly addresses: boolean;
}

/** @param changes all changes from `before` to `after` */
export function* affectedTests(before: Model, after: Model, changes: readonly FactChange[]): Work<AffectedTests> {
  /** Users for whom the answer to any test may change. */
  const users = new Set<string>();
  const resources = new Set<string>();
  const types = new Set<PolicyType>();
  const rules = new Set<string>();
  const policies = new Set<string>();
  let everything = false;
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
  // An address of a changed resource may now belong to another resource or to none, and vice versa.
  const scopes: Scope[] = [{ users: "anyone", types, resources, addresses: resources.size > 0 }];
  if (policies.size + rules.size > 0) {
    for (const model of [before, after]) yield* addingScopes(model, policies, rules, scopes);
  }
  const typesOf = (id: string) => [before, after].flatMap((model) => model.resources.get(id)?.type ?? []);
  return {
    usersOf: ({ resource_type: kind, resource_id: id }) => {
      if (everything) return "anyone";
      const found = new Set(users);
      const ownTypes = kind === "resource" ? typesOf(id) : [];
      for (const scope of scopes) {
        // An address can belong to any resource; the test does not say which.
        const isAffected =
          kind === "address"
            ? scope.addresses || scope.types.size + scope.resources.size > 0
            : scope.resources.has(id) || ownTypes.some((type) => scope.types.has(type));
        if (!isAffected) continue;
        if (scope.users === "anyone") return "anyone";
        for (const user of scope.users) found.add(user);
      }
      return found;
    },
  };
}

/** Adds the scope of each active policy that changed or whose rule changed. */
function* addingScopes(
  model: Model,
  ids: ReadonlySet<string>,
  rules: ReadonlySet<string>,
  scopes: Scope[],
): Work<void> {
  for (const type of policyTypes) {
    for (const policy of model.policies[type].policies) {
      const { facts, forAnyone } = policy;
      const isChanged = ids.has(facts.id) || rules.has(facts.rule);
      // A default policy decides even if it is inactive.
      if (!isChanged || !(facts.active || facts.isDefault)) continue;
      const isForMany = forAnyone || facts.allGroups || facts.allDevices;
      const users = new Set<string>();
      if (!isForMany) yield* addingUsersOf(model, policy, users);
      const isForType = facts.allResources || facts.isDefault || type === "INTERNET";
      scopes.push({
        users: isForMany ? "anyone" : users,
        types: new Set(isForType ? [type] : []),
        resources: new Set(isForType ? [] : facts.resources),
        addresses: false,
      });
    }
  }
}

function idOf(change: Exclude<FactChange, { readonly kind: "policy-order" }>): string {
  return "gone" in change ? change.gone : change.facts.id;
}
