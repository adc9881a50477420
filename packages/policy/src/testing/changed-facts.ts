import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { FactChange, FactsByKind, PolicyFacts, TenantFacts } from "../model/facts.ts";

/** The facts after changes that are applied one by one. An updated model must decide from these facts. */
export function changedFacts(facts: TenantFacts, changes: readonly FactChange[]): TenantFacts {
  let current = facts;
  for (const change of changes) current = changedOnce(current, change);
  return current;
}

function changedOnce(facts: TenantFacts, change: FactChange): TenantFacts {
  if (change.kind === "policy-order") return { ...facts, policies: reordered(facts.policies, change.type, change.ids) };
  if ("gone" in change) return without(facts, change.kind, change.gone);
  switch (change.kind) {
    case "user":
      return { ...facts, users: put(facts.users, change.facts) };
    case "group":
      return { ...facts, groups: put(facts.groups, change.facts) };
    case "device":
      return { ...facts, devices: put(facts.devices, change.facts) };
    case "gateway":
      return { ...facts, gateways: put(facts.gateways, change.facts) };
    case "resource":
      return { ...facts, resources: put(facts.resources, change.facts) };
    case "rule":
      return { ...facts, rules: put(facts.rules, change.facts) };
    case "policy":
      return { ...facts, policies: withPolicy(facts.policies, change.facts) };
  }
}

function without(facts: TenantFacts, kind: keyof FactsByKind, gone: string): TenantFacts {
  const stays = ({ id }: { readonly id: string }) => id !== gone;
  switch (kind) {
    case "user":
      return { ...facts, users: facts.users.filter(stays) };
    case "group":
      return { ...facts, groups: facts.groups.filter(stays) };
    case "device":
      return { ...facts, devices: facts.devices.filter(stays) };
    case "gateway":
      return { ...facts, gateways: facts.gateways.filter(stays) };
    case "resource":
      return { ...facts, resources: facts.resources.filter(stays) };
    case "rule":
      return { ...facts, rules: facts.rules.filter(stays) };
    case "policy":
      return { ...facts, policies: facts.policies.filter(stays) };
  }
}

function put<Facts extends { readonly id: string }>(all: readonly Facts[], facts: Facts): readonly Facts[] {
  const isKnown = all.some(({ id }) => id === facts.id);
  return isKnown ? all.map((other) => (other.id === facts.id ? facts : other)) : [...all, facts];
}

/** "One that is new comes last among those of its type, before the default policy". */
function withPolicy(policies: readonly PolicyFacts[], policy: PolicyFacts): readonly PolicyFacts[] {
  if (policies.some(({ id }) => id === policy.id) || policy.isDefault) return put(policies, policy);
  const place = policies.findIndex(({ isDefault, type }) => isDefault && type === policy.type);
  return place < 0 ? [...policies, policy] : [...policies.slice(0, place), policy, ...policies.slice(place)];
}

function reordered(policies: readonly PolicyFacts[], type: PolicyType, ids: readonly string[]): readonly PolicyFacts[] {
  const others = policies.filter((policy) => policy.type !== type);
  const ordered = ids.flatMap((wanted) => policies.filter(({ id }) => id === wanted));
  return [...others, ...ordered];
}
