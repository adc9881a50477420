/**
 * Tests that changes of facts may break. Every write evaluates the enforced tests, and most writes affect few of them.
 */
import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { mayAllow } from "@gatehouse/policy/effects/access-level";
import { addingUsersOf } from "@gatehouse/policy/effects/possible-subjects";
import type { CompiledPolicy } from "@gatehouse/policy/model/compiled-policy";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import type { TestQuestion } from "./access-tests.queries.ts";

/** The effect of changes on the answers to tests. */
export interface AffectedTests {
  /**
   * Ids of the users for whom the changes may break a test; "anyone" if these are not known. Equal sets are the same
   * object.
   */
  usersOf(question: TestQuestion): ReadonlySet<string> | "anyone";
}

/** Destinations, and the users whose access to them may change. */
interface Scope {
  /** The tests that the change may break: a policy that only denies gives nobody access. */
  readonly breaks: TestQuestion["expected"] | "any";
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
  const scopes: Scope[] = [{ breaks: "any", users: "anyone", types, resources, addresses: resources.size > 0 }];
  if (policies.size + rules.size > 0) yield* addingScopes(before, after, policies, rules, scopes);
  const typesOf = (id: string) => [before, after].flatMap((model) => model.resources.get(id)?.type ?? []);
  /** The users of combinations of scopes, by the indexes of the scopes. */
  const combined = new Map<string, ReadonlySet<string>>();
  return {
    usersOf: ({ resource_type: kind, resource_id: id, expected }) => {
      if (everything) return "anyone";
      const found: ReadonlySet<string>[] = [users];
      let key = "";
      const ownTypes = kind === "resource" ? typesOf(id) : [];
      for (const [index, scope] of scopes.entries()) {
        if (scope.breaks !== "any" && scope.breaks !== expected) continue;
        // An address can belong to any resource; the test does not say which.
        const isAffected =
          kind === "address"
            ? scope.addresses || scope.types.size + scope.resources.size > 0
            : scope.resources.has(id) || ownTypes.some((type) => scope.types.has(type));
        if (!isAffected) continue;
        if (scope.users === "anyone") return "anyone";
        found.push(scope.users);
        key += `${index} `;
      }
      const known = combined.get(key);
      if (known !== undefined) return known;
      const all = new Set(found.flatMap((each) => [...each]));
      combined.set(key, all);
      return all;
    },
  };
}

/** Adds the scopes of each evaluated policy that changed or whose rule changed. */
function* addingScopes(
  before: Model,
  after: Model,
  ids: ReadonlySet<string>,
  rules: ReadonlySet<string>,
  scopes: Scope[],
): Work<void> {
  for (const type of policyTypes) {
    const changed = [before, after].map(
      ({ policies }) =>
        new Map(
          policies[type].policies
            .filter((policy) => isEvaluated(policy) && (ids.has(policy.facts.id) || rules.has(policy.facts.rule)))
            .map((policy) => [policy.facts.id, policy]),
        ),
    );
    const [former, current] = changed;
    for (const [index, policies] of changed.entries()) {
      for (const [id, policy] of policies) {
        const breaks = brokenBy(former?.get(id), current?.get(id));
        scopes.push(yield* scopeOf(index === 0 ? before : after, policy, breaks));
      }
    }
  }
}

/** A default policy decides even if it is inactive. */
function isEvaluated({ facts }: CompiledPolicy): boolean {
  return facts.active || facts.isDefault;
}

/** The tests that may break if an evaluated policy is added, removed or changed. */
function brokenBy(was: CompiledPolicy | undefined, is: CompiledPolicy | undefined): Scope["breaks"] {
  const [added, removed] = [was === undefined ? is : undefined, is === undefined ? was : undefined];
  if (added?.facts.isDefault === true || removed?.facts.isDefault === true) return "any";
  if (added !== undefined) return mayAllow(added) ? "denied" : "allowed";
  if (removed !== undefined) return mayAllow(removed) ? "allowed" : "denied";
  return "any";
}

function* scopeOf(model: Model, policy: CompiledPolicy, breaks: Scope["breaks"]): Work<Scope> {
  const { facts, forAnyone } = policy;
  const isForMany = forAnyone || facts.allGroups || facts.allDevices;
  const users = new Set<string>();
  if (!isForMany) yield* addingUsersOf(model, policy, users);
  const isForType = facts.allResources || facts.isDefault || facts.type === "INTERNET";
  return {
    breaks,
    users: isForMany ? "anyone" : users,
    types: new Set(isForType ? [facts.type] : []),
    resources: new Set(isForType ? [] : facts.resources),
    addresses: false,
  };
}

function idOf(change: Exclude<FactChange, { readonly kind: "policy-order" }>): string {
  return "gone" in change ? change.gone : change.facts.id;
}
