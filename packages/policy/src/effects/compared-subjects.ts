import type { CompiledDevice } from "../model/compiled-device.ts";
import type { CompiledUser } from "../model/compiled-user.ts";
import type { DeviceFacts, UserFacts } from "../model/facts.ts";
import { type Index, indexingDevices } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import type { Table } from "../model/table.ts";
import { sorting } from "../sorting.ts";
import { entriesAtOnce, entryCost, type Work, yieldAfter } from "../work.ts";
import type { AccessSubject } from "./access-difference.ts";
import type { Scope } from "./affected-access.ts";
import { type NumberLists, NumberListsBuilder } from "./columns.ts";
import type { ComparedSubject, PrincipalState } from "./compared-subject.ts";
import { subjectFingerprintA, subjectFingerprintB } from "./subject-tally.ts";

/** A compared subject, and its identity in requests. */
export interface NamedSubject extends ComparedSubject {
  readonly subject: AccessSubject;
}

/**
 * The users, devices and sites of two models. The order of subjects and their fingerprints are the same in every
 * iteration.
 */
export class ComparedSubjects {
  readonly #before: Model;
  readonly #after: Model;
  readonly #userIds: readonly string[];
  readonly #devices: readonly [Index<CompiledDevice>, Index<CompiledDevice>];
  readonly #areGroupsSame: boolean;
  /** The users of both models and their devices, in the order of `#userIds`, if both models have the same ones. */
  readonly #inOrder: UsersInOrder | undefined;

  private constructor(
    before: Model,
    after: Model,
    userIds: readonly string[],
    devices: readonly [Index<CompiledDevice>, Index<CompiledDevice>],
    inOrder: UsersInOrder | undefined,
  ) {
    this.#inOrder = inOrder;
    this.#before = before;
    this.#after = after;
    this.#userIds = userIds;
    this.#devices = devices;
    this.#areGroupsSame = before.groups === after.groups;
  }

  /**
   * Finds the subjects, as work that can be suspended between some of them.
   *
   * @param users all users that the comparison evaluates
   */
  static *finding(before: Model, after: Model, users: Scope): Work<ComparedSubjects> {
    const userIds = users.all ? yield* allUserIds(before, after) : yield* sorting(users.ids);
    if (userIds.length === 0) return new ComparedSubjects(before, after, userIds, [noDevices, noDevices], undefined);
    const devices = yield* indexingDevices(after.devices);
    const former = before.devices === after.devices ? devices : yield* indexingDevices(before.devices);
    const areSame = users.all && before.users === after.users && before.devices === after.devices;
    const inOrder = areSame ? yield* findingInOrder(after, userIds, devices) : undefined;
    return new ComparedSubjects(before, after, userIds, [former, devices], inOrder);
  }

  /** The groups of all users as numbers, if the users and groups of both models are the same. */
  get numberedGroups(): NumberedGroups | undefined {
    return this.#areGroupsSame ? this.#inOrder?.groups : undefined;
  }

  /** The subjects of each user in turn, starting with the user without a device. */
  *byUser(): Iterable<{ readonly userId: string; readonly subjects: readonly NamedSubject[] }> {
    let number = 0;
    let key = 0;
    const inOrder = this.#inOrder;
    for (let index = 0; index < this.#userIds.length; index += 1) {
      const userId = this.#userIds[index] ?? "";
      key += 2;
      const user = inOrder?.users[index];
      const subjects =
        user === undefined
          ? this.#subjectsOf(userId, key, number)
          : this.#sameSubjects(user, inOrder?.devices[index] ?? [], key, number, index);
      number += subjects.length;
      yield { userId, subjects };
    }
  }

  *sites(): Iterable<NamedSubject> {
    const ids = new Set<string>();
    for (const { gateways } of [this.#before, this.#after]) for (const { id } of gateways.values()) ids.add(id);
    let number = -1;
    for (const gatewayId of [...ids].sort()) {
      const [before, after] = [this.#before, this.#after].map((model) =>
        model.gateways.get(gatewayId) === undefined ? undefined : site(model),
      );
      const isSame = before !== undefined && after !== undefined && this.#before.rules === this.#after.rules;
      yield {
        subject: { kind: "site", gatewayId },
        before: isSame ? after : before,
        after,
        isDevice: false,
        fingerprintA: subjectFingerprintA(number),
        fingerprintB: subjectFingerprintB(number),
        gains: false,
        loses: false,
      };
      number -= 1;
    }
  }

  #subjectsOf(userId: string, key: number, first: number): readonly NamedSubject[] {
    const is = this.#after.users.get(userId);
    const was = this.#before.users === this.#after.users ? is : this.#before.users.get(userId);
    if (was === undefined && is === undefined) return [];
    const areSame = was === is && this.#areGroupsSame;
    const after = is === undefined ? undefined : this.#stateOf(this.#after, is, key);
    const before = areSame ? after : was === undefined ? undefined : this.#stateOf(this.#before, was, key + 1);
    const subjects = [new UserSubject(userId, undefined, before, after, first)];
    const [former, current] = this.#devices;
    const devices = current.get(userId);
    if (former !== current) {
      for (const [deviceId, own, other] of pairedDevices(former.get(userId), devices)) {
        const now = withDevice(after, other, this.#after);
        const isSame = before === after && own === other;
        // A rule reads the device from the model of the principal.
        const then = isSame ? now : withDevice(before, own, this.#before);
        subjects.push(new UserSubject(userId, deviceId, then, now, first + subjects.length));
      }
      return subjects;
    }
    this.#addDevices(subjects, inOrder(devices), first);
    return subjects;
  }

  /** The subjects of a user who is the same in both models, like the user's devices. */
  #sameSubjects(
    user: CompiledUser,
    devices: Devices,
    key: number,
    first: number,
    index: number,
  ): readonly NamedSubject[] {
    const after = this.#stateOf(this.#after, user, key, this.#areGroupsSame ? index : undefined);
    const before = this.#areGroupsSame ? after : this.#stateOf(this.#before, user, key + 1);
    const subjects = [new UserSubject(user.facts.id, undefined, before, after, first)];
    this.#addDevices(subjects, devices, first);
    return subjects;
  }

  /** Adds the devices of a user, which are the same in both models. */
  #addDevices(subjects: UserSubject[], devices: Devices, first: number): void {
    const [owner] = subjects;
    if (owner === undefined) return;
    const { userId, before, after } = owner;
    for (const { facts } of devices) {
      const now = withDevice(after, facts, this.#after);
      const then = before === after ? now : withDevice(before, facts, this.#before);
      subjects.push(new UserSubject(userId, facts.id, then, now, first + subjects.length));
    }
  }

  /** @returns undefined for a user who may reach nothing */
  #stateOf(model: Model, { facts }: CompiledUser, key: number, userNumber?: number): PrincipalState | undefined {
    if (facts.status !== "active") return undefined;
    // No entry names a group that is in neither model. A group that is only in the other model must be removed here.
    const groupIds = this.#areGroupsSame ? facts.groups : groupsOf(facts, model);
    return { model, user: facts, device: undefined, groupIds, userNumber, key };
  }
}

type Devices = readonly CompiledDevice[];

const noDevices: Index<CompiledDevice> = { get: () => [], idsOf: () => [] };

/** A user, with or without a device. The subject is created on demand: most comparisons count without names. */
class UserSubject implements NamedSubject {
  readonly userId: string;
  readonly #deviceId: string | undefined;
  readonly before: PrincipalState | undefined;
  readonly after: PrincipalState | undefined;
  readonly isDevice: boolean;
  readonly fingerprintA: number;
  readonly fingerprintB: number;
  gains = false;
  loses = false;

  constructor(
    userId: string,
    deviceId: string | undefined,
    before: PrincipalState | undefined,
    after: PrincipalState | undefined,
    number: number,
  ) {
    this.userId = userId;
    this.#deviceId = deviceId;
    this.before = before;
    this.after = after;
    this.isDevice = deviceId !== undefined;
    this.fingerprintA = subjectFingerprintA(number);
    this.fingerprintB = subjectFingerprintB(number);
  }

  get subject(): AccessSubject {
    const { userId } = this;
    const deviceId = this.#deviceId;
    return deviceId === undefined ? { kind: "user", userId } : { kind: "user", userId, deviceId };
  }
}

function site(model: Model): PrincipalState {
  return { model, user: undefined, device: undefined, groupIds: [], userNumber: undefined, key: -1 };
}

function groupsOf({ groups }: UserFacts, model: Model): readonly string[] {
  return groups.every((id) => model.groups.get(id) !== undefined)
    ? groups
    : groups.filter((id) => model.groups.get(id) !== undefined);
}

/** Devices ordered by id. */
function inOrder(devices: Devices): Devices {
  return devices.length < 2 ? devices : [...devices].sort((one, other) => (one.facts.id < other.facts.id ? -1 : 1));
}

/** The devices of both lists, ordered by id. */
function pairedDevices(
  before: Devices,
  after: Devices,
): readonly (readonly [id: string, before: DeviceFacts | undefined, after: DeviceFacts | undefined])[] {
  const [was, is] = [before, after].map((devices) => new Map(devices.map(({ facts }) => [facts.id, facts])));
  const ids = new Set([...(was?.keys() ?? []), ...(is?.keys() ?? [])]);
  return [...ids]
    .map((id) => [id, was?.get(id), is?.get(id)] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

function withDevice(
  owner: PrincipalState | undefined,
  device: DeviceFacts | undefined,
  model: Model,
): PrincipalState | undefined {
  if (owner === undefined || device?.active !== true) return undefined;
  const { user, groupIds, userNumber, key } = owner;
  return { model, user, device, groupIds, userNumber, key };
}

/** The groups of users as numbers, so that a comparison needs no lookup by id for each group of each user. */
export interface NumberedGroups {
  /** The id of each group. */
  readonly ids: readonly string[];
  /** The numbers of each user's groups, by the index of the user. */
  readonly ofUsers: NumberLists;
}

/** Users, the devices of each of them, and their groups, in the order of ids. */
interface UsersInOrder {
  readonly users: readonly CompiledUser[];
  readonly devices: readonly Devices[];
  readonly groups: NumberedGroups;
}

/** Cached, because finding a record by its id waits for memory several times. */
const usersInOrder = new WeakMap<Table<CompiledUser>, UsersInOrder & { readonly table: Table<CompiledDevice> }>();

/** @returns undefined if the tables do not retain all records, so that nothing else should */
function* findingInOrder(
  { users, devices: table }: Model,
  userIds: readonly string[],
  owned: Index<CompiledDevice>,
): Work<UsersInOrder | undefined> {
  if (!users.retainsValues || !table.retainsValues) return undefined;
  const known = usersInOrder.get(users);
  if (known?.table === table) return known;
  const found: CompiledUser[] = [];
  const devices: Devices[] = [];
  const numbers = new Map<string, number>();
  let unpaid = 0;
  const groups = new NumberListsBuilder();
  for (const userId of userIds) {
    const user = users.get(userId);
    if (user === undefined) continue;
    found.push(user);
    devices.push(inOrder(owned.get(userId)));
    groups.add(user.facts.groups.map((id) => numberOf(id, numbers)));
    unpaid += (1 + user.facts.groups.length) * entryCost;
    if (unpaid < yieldAfter) continue;
    yield unpaid;
    unpaid = 0;
  }
  const inOrderOfIds = {
    users: found,
    devices,
    groups: { ids: [...numbers.keys()], ofUsers: groups.build() },
    table,
  };
  usersInOrder.set(users, inOrderOfIds);
  return inOrderOfIds;
}

function numberOf(id: string, numbers: Map<string, number>): number {
  const known = numbers.get(id);
  if (known !== undefined) return known;
  const number = numbers.size;
  numbers.set(id, number);
  return number;
}

const sortedUsers = new WeakMap<Table<CompiledUser>, readonly string[]>();

/** The ids of the users in either model, in order. */
function* allUserIds(before: Model, after: Model): Work<readonly string[]> {
  const ids = yield* sortedUserIds(after.users);
  if (before.users === after.users) return ids;
  const gone: string[] = [];
  let unpaid = 0;
  for (const { facts } of before.users.values()) {
    if (after.users.get(facts.id) === undefined) gone.push(facts.id);
    unpaid += 1;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  return gone.length === 0 ? ids : yield* sorting([...ids, ...gone]);
}

function* sortedUserIds(users: Table<CompiledUser>): Work<readonly string[]> {
  const known = sortedUsers.get(users);
  if (known !== undefined) return known;
  const ids = yield* sorting(idsOf(users));
  sortedUsers.set(users, ids);
  return ids;
}

function* idsOf(users: Table<CompiledUser>): Iterable<string> {
  for (const { facts } of users.values()) yield facts.id;
}
