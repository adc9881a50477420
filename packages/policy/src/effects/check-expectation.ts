import type { Named } from "../decisions/decision.ts";
import { reachedBy } from "../decisions/destination.ts";
import type { Destination, TransportProtocol } from "../decisions/request.ts";
import { isOffered, offersOf } from "../model/address-directory.ts";
import type { Asker } from "../model/asker.ts";
import { CompiledDevice } from "../model/compiled-device.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledUser } from "../model/compiled-user.ts";
import type { DeviceFacts, Properties } from "../model/facts.ts";
import { devicesByUser, usersByGroup } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import { type AccessLevel, type StandIns, type WeighedAccess, weighAccess } from "./access-level.ts";
import { knownCircumstances, type OpenCircumstances } from "./open-circumstances.ts";

/** What an access test expects. */
export interface AccessExpectation {
  readonly subject:
    | { readonly kind: "everyone" }
    | { readonly kind: "group" | "user"; readonly id: string }
    /** The device with its user, whatever `device` says, but for a posture. */
    | { readonly kind: "device"; readonly id: string };
  /**
   * What users have with them. "any": for "denied", nothing, and each of their active devices; for "allowed", each of their active
   * devices, or nothing where they have none. A posture: an active device that is made up, of which nothing else is known: its other fields are empty.
   */
  readonly device: "any" | "none" | { readonly posture: Properties };
  readonly destination: ExpectedDestination;
  readonly circumstances: OpenCircumstances;
  readonly expected: "allowed" | "denied";
}

/** A destination; of a resource, at times with what has to be offered there, at any of its addresses. */
export type ExpectedDestination =
  | {
      readonly kind: "resource";
      readonly resourceId: string;
      readonly protocol?: TransportProtocol;
      readonly port?: number;
    }
  | Extract<Destination, { kind: "address" }>;

/** Whether an expectation holds, and whom it does not hold for. */
export interface CheckedExpectation {
  /** False where something is missing. */
  readonly holds: boolean;
  /** Of how many subjects it was asked: a user counts once without a device, and once with each. */
  readonly asked: number;
  /** The first of those it does not hold for, at most `mostBroken`, in no certain order. */
  readonly broken: readonly BrokenExpectation[];
  readonly brokenCount: number;
  /** What the expectation is about does not exist, or is no destination. */
  readonly missing?: "subject" | "destination";
}

export interface BrokenExpectation {
  readonly userId: string;
  /** Absent: without a device, or with one that is made up. */
  readonly deviceId?: string;
  readonly level: AccessLevel;
  /** The first policy that may do what was not expected; absent where that is for want of a policy that allows. */
  readonly decidedBy?: Named;
}

export const mostBroken = 20;

/**
 * Whether subjects reach a destination as expected. "denied" holds when each subject's level is "never", "allowed" when each one's is
 * "always". Users who are inactive or pending, and inactive devices, may reach nothing, so "allowed" is not expected of them.
 */
export function checkExpectation(model: Model, expectation: AccessExpectation): CheckedExpectation {
  const users = usersOf(model, expectation);
  if (users === undefined) return { ...nobody, missing: "subject" };
  const target = targetOf(model, expectation.destination);
  if (target === undefined) return { ...nobody, missing: "destination" };
  const circumstances = knownCircumstances(expectation.circumstances);
  const broken: BrokenExpectation[] = [];
  let asked = 0;
  let brokenCount = 0;
  for (const { asker, standIns } of askersOf(model, expectation, users)) {
    asked += 1;
    const access =
      asker.isActive && target.open ? weighAccess(model, asker, target.resource, circumstances, standIns) : closed;
    if (access.level === (expectation.expected === "allowed" ? "always" : "never")) continue;
    brokenCount += 1;
    if (broken.length < mostBroken) broken.push(brokenBy(asker, access, expectation));
  }
  return { holds: brokenCount === 0, asked, broken, brokenCount };
}

const nobody: CheckedExpectation = { holds: false, asked: 0, broken: [], brokenCount: 0 };
const closed: WeighedAccess = { level: "never" };

interface Asking {
  readonly asker: Asker;
  readonly standIns?: StandIns;
}

function usersOf(model: Model, { subject }: AccessExpectation): Iterable<CompiledUser> | undefined {
  switch (subject.kind) {
    case "everyone":
      return model.users.values();
    case "group":
      return model.groups.get(subject.id) === undefined ? undefined : (usersByGroup(model.users).get(subject.id) ?? []);
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

function* askersOf(model: Model, expectation: AccessExpectation, users: Iterable<CompiledUser>): Iterable<Asking> {
  const { subject, device, expected } = expectation;
  const isExpectedOf = ({ isActive }: Asker) => expected === "denied" || isActive;
  const made = typeof device === "object" ? madeUpDevice(device.posture) : undefined;
  const owned = device === "any" && subject.kind !== "device" ? devicesByUser(model.devices) : undefined;
  for (const user of users) {
    const asker = user.askerIn(model.groups);
    if (!isExpectedOf(asker)) continue;
    if (subject.kind === "device") {
      const own = model.devices.get(subject.id);
      if (own === undefined || !isExpectedOf(asker.with(own.facts))) continue;
      const posed = typeof device === "object" ? { standIns: { device: own.forRulesWith(device.posture) } } : {};
      yield { asker: asker.with(own.facts), ...posed };
    } else if (made !== undefined) {
      yield { asker: asker.with(made.facts), standIns: { device: made.forRules } };
    } else {
      const devices = (owned?.get(user.facts.id) ?? []).filter(({ facts }) => facts.active);
      if (expected === "denied" || devices.length === 0) yield { asker };
      for (const { facts } of devices) yield { asker: asker.with(facts) };
    }
  }
}

/** No device has it, so no policy names it. */
const madeUpId = "";

function madeUpDevice(posture: Properties): { readonly facts: DeviceFacts; readonly forRules: object } {
  const facts: DeviceFacts = {
    id: madeUpId,
    userId: null,
    active: true,
    name: "",
    os: "",
    osVersion: "",
    appVersion: "",
    hardwareId: "",
    posture,
  };
  return { facts, forRules: new CompiledDevice(facts).forRules };
}

/** @returns undefined for what does not exist */
function targetOf(
  model: Model,
  destination: ExpectedDestination,
): { readonly resource: CompiledResource | undefined; readonly open: boolean } | undefined {
  if (destination.kind === "address") {
    const { resource, denied } = reachedBy(model, destination);
    return denied === "invalid_address" ? undefined : { resource, open: denied === undefined };
  }
  const { resourceId, protocol, port } = destination;
  const resource = model.resources.get(resourceId);
  if (resource === undefined) return undefined;
  return { resource, open: protocol === undefined || isOffered(offersOf(resource.facts), protocol, port) };
}

function brokenBy(
  { userId, deviceId }: Asker,
  { level, allowing, denying }: WeighedAccess,
  { expected }: AccessExpectation,
): BrokenExpectation {
  const policy = expected === "denied" ? allowing : denying;
  return {
    userId,
    ...(deviceId === undefined || deviceId === madeUpId ? {} : { deviceId }),
    level,
    ...(policy === undefined ? {} : { decidedBy: policy.named }),
  };
}
