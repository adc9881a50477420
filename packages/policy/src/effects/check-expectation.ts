import type { Named } from "../decisions/decision.ts";
import type { Destination } from "../decisions/request.ts";
import { resolveDestination } from "../decisions/resolve-destination.ts";
import { isOffered, offersOf } from "../model/address-offers.ts";
import { CompiledDevice } from "../model/compiled-device.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledUser } from "../model/compiled-user.ts";
import type { DeviceFacts, Properties, TransportProtocol } from "../model/facts.ts";
import { type Index, indexingDevices, indexingUsers } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import type { Principal } from "../model/principal.ts";
import { finish, recordCost, recordsAtOnce, type Work } from "../work.ts";
import { type AccessEvaluation, type AccessLevel, evaluatingAccess, type VariableOverrides } from "./access-level.ts";
import { knownCircumstances, type OpenCircumstances, type OpenDevice } from "./open-circumstances.ts";
import { allowsEveryone, usersWhoMayBeAllowed } from "./possible-subjects.ts";

/** The expectation of an access test. */
export interface AccessExpectation {
  readonly subject:
    | { readonly kind: "everyone" }
    | { readonly kind: "group" | "user"; readonly id: string }
    /** The device with its user. Of `device`, only a posture applies. */
    | { readonly kind: "device"; readonly id: string };
  /**
   * The devices of the users. "any" means each active device of a user. It includes the user without a device if access
   * is expected to be denied, or if the user has no active device. A posture represents a hypothetical active device
   * with the agent. Posture entries that it does not name are open. So are the session and the other fields, unless
   * the subject is a device.
   */
  readonly device: "any" | "none" | { readonly posture: Properties };
  readonly destination: ExpectedDestination;
  readonly circumstances: OpenCircumstances;
  readonly expected: "allowed" | "denied";
}

/** An address, or a resource with an optional protocol and port that any of its addresses must offer. */
export type ExpectedDestination =
  | {
      readonly kind: "resource";
      readonly resourceId: string;
      readonly protocol?: TransportProtocol;
      readonly port?: number;
    }
  | Extract<Destination, { kind: "address" }>;

/** The result of an expectation, and the subjects for which it does not hold. */
export interface CheckedExpectation {
  /** False if the subject or the destination is missing. */
  readonly holds: boolean;
  /** The number of evaluated subjects. A user counts once without a device and once with each device. */
  readonly asked: number;
  /** Up to `maxBroken` subjects for which the expectation does not hold, in no particular order. */
  readonly broken: readonly BrokenExpectation[];
  readonly brokenCount: number;
  /** Set if the subject or the destination does not exist, or the destination is invalid. */
  readonly missing?: "subject" | "destination";
}

export interface BrokenExpectation {
  readonly userId: string;
  /** Absent for a user without a device or with a hypothetical one. */
  readonly deviceId?: string;
  readonly level: AccessLevel;
  /** The first policy that contradicts the expectation. Absent if access is denied because no policy allows it. */
  readonly decidedBy?: Named;
}

export const maxBroken = 20;

/**
 * Checks whether subjects reach a destination as expected. "denied" holds if the level of each subject is "never", and
 * "allowed" if it is "always". Inactive and pending users and inactive devices may reach nothing, so "allowed" is not
 * checked for them.
 */
export function checkExpectation(model: Model, expectation: AccessExpectation): CheckedExpectation {
  return finish(checkingExpectation(model, expectation));
}

/**
 * Checks an expectation, as work that can be suspended between two policies.
 *
 * @param among ids of the users who are evaluated, if the expectation is about everyone or a group
 */
export function* checkingExpectation(
  model: Model,
  expectation: AccessExpectation,
  among?: ReadonlySet<string>,
): Work<CheckedExpectation> {
  const { subject } = expectation;
  const isPart = among !== undefined && (subject.kind === "everyone" || subject.kind === "group");
  const users = isPart ? usersAmong(model, subject, among) : yield* usersOf(model, expectation);
  if (users === undefined) return { ...nobody, missing: "subject" };
  const target = targetOf(model, expectation.destination);
  if (target === undefined) return { ...nobody, missing: "destination" };
  const { device } = expectation;
  const circumstances = knownCircumstances({
    ...expectation.circumstances,
    ...(typeof device === "object" ? { device: openDevice(device.posture, subject.kind !== "device") } : {}),
  });
  // If every active user has access, evaluating some of them is enough.
  const isUniform =
    !isPart && expectation.expected === "denied" && target.open && allowsEveryone(model, target.resource);
  const suspects = isPart ? undefined : yield* suspectsOf(model, expectation, target);
  const broken: BrokenExpectation[] = [];
  let asked = 0;
  let brokenCount = 0;
  for (const tested of yield* principalsOf(model, expectation, suspects ?? users)) {
    if (typeof tested === "number") {
      yield tested;
      continue;
    }
    const { principal, overrides } = tested;
    asked += 1;
    const access =
      principal.isActive && target.open
        ? yield* evaluatingAccess(model, principal, target.resource, circumstances, overrides)
        : closed;
    if (access.level === (expectation.expected === "allowed" ? "always" : "never")) continue;
    brokenCount += 1;
    if (broken.length < maxBroken) broken.push(brokenBy(principal, access, expectation));
    else if (isUniform) break;
  }
  if (isUniform && broken.length === maxBroken) {
    // The loop above has consumed the users.
    const [everyone, active] = yield* countingPrincipals(
      model,
      expectation,
      (yield* usersOf(model, expectation)) ?? [],
    );
    return { holds: false, asked: everyone, broken, brokenCount: active };
  }
  if (suspects !== undefined) [asked] = yield* countingPrincipals(model, expectation, users);
  return { holds: brokenCount === 0, asked, broken, brokenCount };
}

/**
 * The users for whom an expectation about several users may not hold. The policies show this without an evaluation of
 * each user.
 *
 * @returns undefined if the expectation may not hold for any user
 */
function* suspectsOf(model: Model, { subject, expected }: AccessExpectation, target: Target): Work<Users | undefined> {
  if (subject.kind !== "everyone" && subject.kind !== "group") return undefined;
  if (expected === "allowed") return target.open && allowsEveryone(model, target.resource) ? [] : undefined;
  if (!target.open) return [];
  const ids = yield* usersWhoMayBeAllowed(model, target.resource);
  if (ids === undefined) return undefined;
  return usersAmong(model, subject, ids);
}

type MultiUserSubject = { readonly kind: "everyone" } | { readonly kind: "group" | "user"; readonly id: string };

/** Users, and the units of cost that were spent to find them. */
type Users = Iterable<CompiledUser | number>;

/** The users with these ids, without users outside the group if the subject is a group. */
function* usersAmong(model: Model, subject: MultiUserSubject, ids: Iterable<string>): Users {
  let unpaid = 0;
  for (const id of ids) {
    unpaid += 1;
    if (unpaid === recordsAtOnce) {
      yield unpaid * recordCost;
      unpaid = 0;
    }
    const user = model.users.get(id);
    const isAsked = subject.kind === "everyone" || user?.facts.groups.includes(subject.id) === true;
    if (user !== undefined && isAsked) yield user;
  }
}

type Counts = readonly [all: number, active: number];

/** Cached counts of principals. They are valid while the tables of users and devices are the same. */
const counted = new WeakMap<
  Model["users"],
  { readonly devices: Model["devices"]; readonly counts: Map<string, Counts> }
>();

/** Counts the principals that an expectation is about, as work that can be suspended between users. */
function* countingPrincipals(model: Model, expectation: AccessExpectation, users: Users): Work<Counts> {
  const { subject, device, expected } = expectation;
  const { users: table, devices } = model;
  const key = `${expected} ${device === "any"}`;
  let known = counted.get(table);
  if (known?.devices !== devices) {
    known = { devices, counts: new Map() };
    counted.set(table, known);
  }
  const before = subject.kind === "everyone" ? known.counts.get(key) : undefined;
  if (before !== undefined) return before;
  const owned = device === "any" ? yield* indexingDevices(devices) : undefined;
  let all = 0;
  let active = 0;
  let unpaid = 0;
  for (const user of users) {
    if (typeof user === "number") {
      yield user;
      continue;
    }
    const { facts } = user;
    unpaid += 1;
    if (unpaid >= recordsAtOnce) {
      yield unpaid * recordCost;
      unpaid = 0;
    }
    const isActive = facts.status === "active";
    if (expected === "allowed" && !isActive) continue;
    const devicesOfUser = owned?.get(facts.id) ?? [];
    unpaid += devicesOfUser.length;
    const withDevice = devicesOfUser.filter((own) => own.facts.active).length;
    const count = withDevice + (expected === "denied" || withDevice === 0 ? 1 : 0);
    all += count;
    if (isActive) active += count;
  }
  const counts: Counts = [all, active];
  if (subject.kind === "everyone") known.counts.set(key, counts);
  return counts;
}

const nobody: CheckedExpectation = { holds: false, asked: 0, broken: [], brokenCount: 0 };
const closed: AccessEvaluation = { level: "never" };

interface TestedPrincipal {
  readonly principal: Principal;
  readonly overrides?: VariableOverrides;
}

/** @returns undefined if the subject does not exist */
function* usersOf(model: Model, { subject }: AccessExpectation): Work<Users | undefined> {
  switch (subject.kind) {
    case "everyone":
      return withCosts(model.users.values());
    case "group": {
      if (model.groups.get(subject.id) === undefined) return undefined;
      const members = yield* indexingUsers(model.users);
      return usersAmong(model, subject, members.idsOf(subject.id));
    }
    case "user": {
      const user = model.users.get(subject.id);
      return user === undefined ? undefined : [user];
    }
    case "device": {
      const userId = model.devices.get(subject.id)?.userId;
      const user = userId === undefined || userId === null ? undefined : model.users.get(userId);
      return user === undefined ? undefined : [user];
    }
  }
}

function* withCosts(users: Iterable<CompiledUser>): Users {
  let unpaid = 0;
  for (const user of users) {
    unpaid += 1;
    if (unpaid === recordsAtOnce) {
      yield unpaid * recordCost;
      unpaid = 0;
    }
    yield user;
  }
}

/** The principals of users, and the units of cost that were spent to find them. */
function* principalsOf(
  model: Model,
  expectation: AccessExpectation,
  users: Users,
): Work<Iterable<TestedPrincipal | number>> {
  const { subject, device } = expectation;
  const owned = device === "any" && subject.kind !== "device" ? yield* indexingDevices(model.devices) : undefined;
  return findingPrincipals(model, expectation, users, owned);
}

function* findingPrincipals(
  model: Model,
  { subject, device, expected }: AccessExpectation,
  users: Users,
  owned: Index<CompiledDevice> | undefined,
): Iterable<TestedPrincipal | number> {
  const isExpectedOf = ({ isActive }: Principal) => expected === "denied" || isActive;
  const made = typeof device === "object" ? syntheticDevice(device.posture) : undefined;
  for (const user of users) {
    if (typeof user === "number") {
      yield user;
      continue;
    }
    const principal = user.principalIn(model.groups);
    if (!isExpectedOf(principal)) continue;
    if (subject.kind === "device") {
      const own = model.devices.get(subject.id);
      if (own === undefined || !isExpectedOf(principal.with(own.facts))) continue;
      const posed = typeof device === "object" ? { overrides: { device: own.forRulesWith(device.posture) } } : {};
      yield { principal: principal.with(own.facts), ...posed };
    } else if (made !== undefined) {
      yield { principal: principal.with(made.facts), overrides: { device: made.forRules } };
    } else {
      const devices = (owned?.get(user.facts.id) ?? []).filter(({ facts }) => facts.active);
      if (expected === "denied" || devices.length === 0) yield { principal };
      for (const own of devices) {
        yield { principal: own.principalIn(model.users, model.groups) ?? principal.with(own.facts) };
      }
    }
  }
}

function openDevice(posture: Properties, isHypothetical: boolean): OpenDevice {
  return { knownPosture: new Set(Object.keys(posture)), isHypothetical };
}

/** The id of no stored device, so no policy names it. */
const syntheticId = "";

function syntheticDevice(posture: Properties): { readonly facts: DeviceFacts; readonly forRules: object } {
  const facts: DeviceFacts = {
    id: syntheticId,
    userId: null,
    active: true,
    name: "",
    os: "",
    osVersion: "",
    appVersion: "",
    hardwareId: "",
    tags: [],
    agent: true,
    posture,
  };
  return { facts, forRules: new CompiledDevice(facts).forRules };
}

export interface Target {
  readonly resource: CompiledResource | undefined;
  readonly open: boolean;
}

/** @returns undefined for a missing resource or an invalid address */
export function targetOf(model: Model, destination: ExpectedDestination): Target | undefined {
  if (destination.kind === "address") {
    const { resource, denied } = resolveDestination(model, destination);
    return denied === "invalid_address" ? undefined : { resource, open: denied === undefined };
  }
  const { resourceId, protocol, port } = destination;
  const resource = model.resources.get(resourceId);
  if (resource === undefined) return undefined;
  return { resource, open: protocol === undefined || isOffered(offersOf(resource.facts), protocol, port) };
}

function brokenBy(
  { userId, deviceId }: Principal,
  { level, allowing, denying }: AccessEvaluation,
  { expected }: AccessExpectation,
): BrokenExpectation {
  const policy = expected === "denied" ? allowing : denying;
  return {
    userId,
    ...(deviceId === undefined || deviceId === syntheticId ? {} : { deviceId }),
    level,
    ...(policy === undefined ? {} : { decidedBy: policy.named }),
  };
}
