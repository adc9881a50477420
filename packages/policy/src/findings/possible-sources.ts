import type { CompiledPolicy } from "../model/compiled-policy.ts";
import { usersByGroup } from "../model/members.ts";
import type { Model } from "../model/model.ts";

/** The sources of a policy that lead to active users, or to active devices of such users. */
export interface ActiveSources {
  /** Whether every user or every site is a source. */
  readonly everyone: boolean;
  readonly anyGroup: boolean;
  readonly anyDevice: boolean;
  readonly users: readonly string[];
  readonly groups: readonly string[];
  readonly devices: readonly string[];
}

/** Subjects of a tenant that can send requests at all. */
export class PossibleSources {
  readonly #model: Model;
  readonly #hasUser: boolean;
  readonly #hasMember: boolean;
  readonly #hasDevice: boolean;
  readonly #hasSite: boolean;
  readonly #groups = new Map<string, boolean>();
  readonly #known = new Map<CompiledPolicy, ActiveSources | undefined>();

  constructor(model: Model) {
    this.#model = model;
    this.#hasUser = some(model.users.values(), ({ facts }) => facts.status === "active");
    this.#hasMember = some(
      model.users.values(),
      ({ facts }) => facts.status === "active" && facts.groups.some((id) => model.groups.get(id) !== undefined),
    );
    this.#hasDevice = some(model.devices.values(), ({ facts }) => this.#canAskWith(facts.id));
    this.#hasSite = model.gateways.size > 0;
  }

  /** @returns undefined if no subject of the policy can send requests */
  of(policy: CompiledPolicy): ActiveSources | undefined {
    if (!this.#known.has(policy)) this.#known.set(policy, this.#of(policy));
    return this.#known.get(policy);
  }

  #of({ facts, users, groups, devices }: CompiledPolicy): ActiveSources | undefined {
    const { type, allUsers, allGroups, allDevices, isDefault } = facts;
    if (type === "SITETOSITE") return this.#hasSite ? { ...nobody, everyone: true } : undefined;
    const sources: ActiveSources = {
      everyone: (allUsers || isDefault) && this.#hasUser,
      anyGroup: allGroups && this.#hasMember,
      anyDevice: allDevices && this.#hasDevice,
      users: [...users].filter((id) => this.#canAsk(id)),
      groups: [...groups].filter((id) => this.#hasActiveMember(id)),
      devices: [...devices].filter((id) => this.#canAskWith(id)),
    };
    const { everyone, anyGroup, anyDevice } = sources;
    const named = sources.users.length + sources.groups.length + sources.devices.length;
    return everyone || anyGroup || anyDevice || named > 0 ? sources : undefined;
  }

  #canAsk(userId: string): boolean {
    return this.#model.users.get(userId)?.facts.status === "active";
  }

  #canAskWith(deviceId: string): boolean {
    const device = this.#model.devices.get(deviceId)?.facts;
    return device?.active === true && device.userId !== null && this.#canAsk(device.userId);
  }

  #hasActiveMember(groupId: string): boolean {
    const known = this.#groups.get(groupId);
    if (known !== undefined) return known;
    const { groups, users } = this.#model;
    const members = groups.get(groupId) === undefined ? [] : usersByGroup(users).get(groupId);
    const found = members.some(({ facts }) => facts.status === "active");
    this.#groups.set(groupId, found);
    return found;
  }
}

const nobody: ActiveSources = {
  everyone: false,
  anyGroup: false,
  anyDevice: false,
  users: [],
  groups: [],
  devices: [],
};

/**
 * Whether a policy applies to all given sources. May be false for a policy that does, but is never true for one that
 * does not.
 *
 * @param sources the sources of another policy
 */
export function coversSources(
  { forAnyone, facts, users, groups, devices }: CompiledPolicy,
  sources: ActiveSources,
): boolean {
  if (forAnyone) return true;
  const { allGroups, allDevices } = facts;
  return (
    !sources.everyone &&
    (!sources.anyGroup || allGroups) &&
    (!sources.anyDevice || allDevices) &&
    (allGroups || sources.groups.every((id) => groups.has(id))) &&
    (allDevices || sources.devices.every((id) => devices.has(id))) &&
    sources.users.every((id) => users.has(id))
  );
}

function some<Value>(values: Iterable<Value>, is: (value: Value) => boolean): boolean {
  for (const value of values) if (is(value)) return true;
  return false;
}
