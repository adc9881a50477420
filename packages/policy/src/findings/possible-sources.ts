import type { CompiledPolicy } from "../model/compiled-policy.ts";
import { indexingUsers } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import { recordCost, recordsAtOnce, type Work } from "../work.ts";

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

type Kind = "user" | "member" | "device";

/** Subjects of a tenant that can send requests at all. Each answer is found once. */
export class PossibleSources {
  readonly #model: Model;
  readonly #exists = new Map<Kind, boolean>();
  readonly #groups = new Map<string, boolean>();
  readonly #known = new Map<CompiledPolicy, ActiveSources | undefined>();

  constructor(model: Model) {
    this.#model = model;
  }

  /** @returns undefined if no subject of the policy can send requests */
  *of(policy: CompiledPolicy): Work<ActiveSources | undefined> {
    if (!this.#known.has(policy)) this.#known.set(policy, yield* this.#of(policy));
    return this.#known.get(policy);
  }

  *#of({ facts, users, groups, devices }: CompiledPolicy): Work<ActiveSources | undefined> {
    const { type, allUsers, allGroups, allDevices, isDefault } = facts;
    if (type === "SITETOSITE") return this.#model.gateways.size > 0 ? { ...nobody, everyone: true } : undefined;
    const activeGroups: string[] = [];
    for (const id of groups) if (yield* this.#hasActiveMember(id)) activeGroups.push(id);
    const sources: ActiveSources = {
      everyone: (allUsers || isDefault) && (yield* this.#has("user")),
      anyGroup: allGroups && (yield* this.#has("member")),
      anyDevice: allDevices && (yield* this.#has("device")),
      users: yield* filtering(users, (id) => this.#canAsk(id)),
      groups: activeGroups,
      devices: yield* filtering(devices, (id) => this.#canAskWith(id)),
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

  /** Whether there is any active user, member of a group, or device of an active user. */
  *#has(kind: Kind): Work<boolean> {
    const known = this.#exists.get(kind);
    if (known !== undefined) return known;
    const { users, groups, devices } = this.#model;
    const isMember = (id: string) => users.get(id)?.facts.groups.some((group) => groups.get(group) !== undefined);
    const is = {
      user: (id: string) => this.#canAsk(id),
      member: (id: string) => this.#canAsk(id) && isMember(id) === true,
      device: (id: string) => this.#canAskWith(id),
    }[kind];
    const found = (yield* filtering((kind === "device" ? devices : users).ids(), is, 1)).length > 0;
    this.#exists.set(kind, found);
    return found;
  }

  *#hasActiveMember(groupId: string): Work<boolean> {
    const known = this.#groups.get(groupId);
    if (known !== undefined) return known;
    const { groups, users } = this.#model;
    const members = groups.get(groupId) === undefined ? [] : (yield* indexingUsers(users)).idsOf(groupId);
    const found = (yield* filtering(members, (id) => this.#canAsk(id), 1)).length > 0;
    this.#groups.set(groupId, found);
    return found;
  }
}

/** @param most the number of ids after which the search ends */
function* filtering(
  ids: Iterable<string>,
  is: (id: string) => boolean,
  most = Number.POSITIVE_INFINITY,
): Work<readonly string[]> {
  const found: string[] = [];
  let unpaid = 0;
  for (const id of ids) {
    if (is(id)) found.push(id);
    if (found.length >= most) break;
    unpaid += 1;
    if (unpaid < recordsAtOnce) continue;
    yield unpaid * recordCost;
    unpaid = 0;
  }
  yield unpaid * recordCost;
  return found;
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
