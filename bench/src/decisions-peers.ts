/**
 * The same tenant in Cedar and in Casbin. Both scan all policies to find those that apply. Each policy is therefore in
 * the form that is cheapest to skip. The memberships of a user or a resource form a hierarchy, with one node for the
 * sources and one for the destinations of each policy.
 */
import { type EntityJson, preparsePolicySet, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs";
import type { DeviceFacts, PolicyFacts, TenantFacts, UserFacts } from "@gatehouse/policy/model/facts";
import { newEnforcer, newModelFromString } from "casbin";
import { berlinHour, type Question, type RuleName } from "./decisions-tenant.ts";

/** A question in a peer's form, prepared outside the measured time. Returns true if access is allowed. */
export type Ask = () => boolean;

export interface Peer {
  readonly name: string;
  readonly asks: readonly Ask[];
}

/** The records that questions are about, and the sources and destinations of policies that they belong to. */
class Relations {
  readonly #users: ReadonlyMap<string, UserFacts>;
  readonly #devices: ReadonlyMap<string, DeviceFacts>;
  readonly #rules: ReadonlyMap<string, string>;
  readonly sources = new Map<string, string[]>();
  readonly targets = new Map<string, string[]>();

  constructor(facts: TenantFacts) {
    this.#users = new Map(facts.users.map((user) => [user.id, user]));
    this.#devices = new Map(facts.devices.map((device) => [device.id, device]));
    this.#rules = new Map(facts.rules.filter(({ type }) => type === "CUSTOM").map(({ id, name }) => [id, name]));
    for (const policy of facts.policies) {
      for (const id of new Set([...policy.groups, ...policy.users])) append(this.sources, id, policy.id);
      for (const id of new Set(policy.resources)) append(this.targets, id, policy.id);
    }
  }

  of({ subject, destination }: Question) {
    return {
      user: known(this.#users, subject.userId),
      device: known(this.#devices, subject.deviceId),
      resourceId: destination.resourceId,
    };
  }

  /** The name of a policy's rule; undefined if the policy has no rule. */
  ruleOf({ rule }: PolicyFacts): RuleName | undefined {
    return this.#rules.get(rule) as RuleName | undefined; // the tenant has no other rules
  }
}

// Cedar -------------------------------------------------------------------------------------------------------------

const cedarRules: Readonly<Record<RuleName, string>> = {
  engineersOnEncrypted: 'principal.department == "Engineering" && context.diskEncrypted',
  knownSystem: '["macOS", "Windows"].contains(context.os)',
  seniority: "principal.level >= 3",
  fromGermany: 'context.country == "DE" || principal.level > 5',
  workingHours: "context.hour >= 8 && context.hour < 18",
};

/** Policies are parsed in advance. A question includes only the entities that it needs. */
export function cedar(facts: TenantFacts, questions: readonly Question[]): Peer {
  const relations = new Relations(facts);
  const name = `policies-${facts.policies.length}`;
  const texts = facts.policies.map((policy) => cedarText(policy, relations.ruleOf(policy)));
  const parsed = preparsePolicySet(name, { staticPolicies: texts.join("\n") });
  if (parsed.type === "failure") throw new Error(parsed.errors.map(({ message }) => message).join("; "));
  const asks = questions.map((question): Ask => {
    const { user, device, resourceId } = relations.of(question);
    const parents = (type: string, ids: readonly string[] = []) => ids.map((id) => ({ type, id }));
    const entity = (type: string, id: string, above: EntityJson["parents"]): EntityJson => ({
      uid: { type, id },
      attrs: {},
      parents: above,
    });
    const groups = [...new Set(user.groups)];
    const userParents = [...parents("Group", groups), ...parents("Sources", relations.sources.get(user.id))];
    const call = {
      principal: { type: "User", id: user.id },
      action: { type: "Action", id: "connect" },
      resource: { type: "Resource", id: resourceId },
      context: { ...device.posture, os: device.os, country: question.country, hour: berlinHour },
      preparsedPolicySetId: name,
      entities: [
        { ...entity("User", user.id, userParents), attrs: user.attributes },
        ...groups.map((id) => entity("Group", id, parents("Sources", relations.sources.get(id)))),
        entity("Resource", resourceId, parents("Targets", relations.targets.get(resourceId))),
      ],
    };
    return () => {
      const answer = statefulIsAuthorized(call);
      if (answer.type === "failure") throw new Error(answer.errors.map(({ message }) => message).join("; "));
      return answer.response.decision === "allow";
    };
  });
  return { name: "Cedar", asks };
}

function cedarText(policy: PolicyFacts, rule: RuleName | undefined): string {
  const principal = policy.allUsers ? "principal" : `principal in Sources::"${policy.id}"`;
  const resource = policy.allResources ? "resource" : `resource in Targets::"${policy.id}"`;
  const condition = rule === undefined ? "" : ` when { ${cedarRules[rule]} }`;
  return `${policy.action ? "permit" : "forbid"}(${principal}, action, ${resource})${condition};`;
}

// Casbin ------------------------------------------------------------------------------------------------------------

interface CasbinFacts {
  readonly department: string;
  readonly level: number;
  readonly os: string;
  readonly diskEncrypted: boolean;
  readonly country: string;
  readonly hour: number;
}

const casbinRules: Readonly<Record<RuleName, (facts: CasbinFacts) => boolean>> = {
  engineersOnEncrypted: ({ department, diskEncrypted }) => department === "Engineering" && diskEncrypted,
  knownSystem: ({ os }) => os === "macOS" || os === "Windows",
  seniority: ({ level }) => level >= 3,
  fromGermany: ({ country, level }) => country === "DE" || level > 5,
  workingHours: ({ hour }) => hour >= 8 && hour < 18,
};

const casbinModel = `
[request_definition]
r = user, resource, facts
[policy_definition]
p = sources, targets, rule, eft
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = (p.targets == "*" || g2(r.resource, p.targets)) && (p.sources == "*" || g(r.user, p.sources)) && (p.rule == "none" || met(r.facts, p.rule))
`;

/** Loads the roles only of records that the questions name. Rules are functions of the host. */
export async function casbin(facts: TenantFacts, questions: readonly Question[]): Promise<Peer> {
  const relations = new Relations(facts);
  const enforcer = await newEnforcer(newModelFromString(casbinModel));
  await enforcer.addFunction("met", (of: CasbinFacts, rule: RuleName) => casbinRules[rule](of));
  const added = await enforcer.addPolicies(
    facts.policies.map((policy) => [
      policy.allUsers ? "*" : `sources ${policy.id}`,
      policy.allResources ? "*" : `targets ${policy.id}`,
      relations.ruleOf(policy) ?? "none",
      policy.action ? "allow" : "deny",
    ]),
  );
  // Casbin adds no policies if two are identical.
  if (!added) throw new Error("Casbin took no policies.");
  const roles = new Map<string, [string, string]>();
  const resourceRoles = new Map<string, [string, string]>();
  const link = (links: typeof roles, from: string, to: string) => links.set(`${from} ${to}`, [from, to]);
  const asks = questions.map((question): Ask => {
    const { user, device, resourceId } = relations.of(question);
    for (const policy of relations.sources.get(user.id) ?? []) link(roles, user.id, `sources ${policy}`);
    for (const group of user.groups) {
      link(roles, user.id, group);
      for (const policy of relations.sources.get(group) ?? []) link(roles, group, `sources ${policy}`);
    }
    for (const policy of relations.targets.get(resourceId) ?? []) link(resourceRoles, resourceId, `targets ${policy}`);
    const given = { ...user.attributes, ...device.posture, os: device.os, country: question.country, hour: berlinHour };
    return () => enforcer.enforceSync(user.id, resourceId, given);
  });
  await enforcer.addGroupingPolicies([...roles.values()]);
  await enforcer.addNamedGroupingPolicies("g2", [...resourceRoles.values()]);
  return { name: "Casbin", asks };
}

function append(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function known<Value>(values: ReadonlyMap<string, Value>, id: string): Value {
  const value = values.get(id);
  if (value === undefined) throw new RangeError(`Unknown record ${id}.`);
  return value;
}
