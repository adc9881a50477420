import type { CompiledPolicy } from "../model/compiled-policy.ts";
import { indexingDevices, indexingUsers } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import { sorting } from "../sorting.ts";
import { entriesAtOnce, entryCost, finish, type Work } from "../work.ts";
import { decide } from "./decide.ts";
import type { Decision } from "./decision.ts";
import type { AccessRequest, Destination, Subject } from "./request.ts";
import { resolveDestination } from "./resolve-destination.ts";

/** The circumstances that all requests of a search share. */
export type SearchCircumstances = Pick<AccessRequest, "sourceIp" | "country" | "now">;

/** An id, and the decision that allows the access. */
export interface Found {
  readonly id: string;
  readonly decision: Decision;
}

/** The resources that a subject may reach, ordered by id. Equivalent to a decision for each resource. */
export function* reachableResources(
  model: Model,
  subject: Subject,
  circumstances: SearchCircumstances,
): Iterable<Found> {
  for (const resourceId of finish(sorting(model.resources.ids()))) {
    const decision = decide(model, { ...circumstances, subject, destination: { kind: "resource", resourceId } });
    if (decision.allowed) yield { id: resourceId, decision };
  }
}

/**
 * The users or devices that may reach a destination, ordered by id. Equivalent to a decision for each user without a
 * device, or for each device.
 *
 * @param kind whether to search for users or for devices
 */
export function* subjectsWithAccess(
  model: Model,
  kind: "user" | "device",
  destination: Destination,
  circumstances: SearchCircumstances,
): Iterable<Found> {
  for (const id of finish(sorting(finish(possibleSubjects(model, kind, destination))))) {
    const subject: Subject = kind === "user" ? { kind, userId: id } : { kind, deviceId: id };
    const decision = decide(model, { ...circumstances, subject, destination });
    if (decision.allowed) yield { id, decision };
  }
}

/**
 * The ids of all subjects that an allowing policy names, each once and in no particular order. May contain more ids. No
 * other subject can be allowed.
 */
export function* possibleSubjects(
  model: Model,
  kind: "user" | "device",
  destination: Destination,
): Work<Iterable<string>> {
  const { resource, denied } = resolveDestination(model, destination);
  if (denied !== undefined) return [];
  const list = model.policies[resource?.type ?? "INTERNET"];
  const policies =
    resource === undefined
      ? list.anywhere.policies
      : [...list.everywhere.policies, ...(resource.policiesIn(list)?.policies ?? [])];
  const allowing = policies.filter(({ facts }) => facts.action);
  if (list.fallback !== undefined || allowing.some(isForMany)) return model[`${kind}s`].ids();
  return yield* kind === "user" ? namedUsers(model, allowing) : namedDevices(model, allowing);
}

function isForMany({ forAnyone, facts }: CompiledPolicy): boolean {
  return forAnyone || facts.allGroups || facts.allDevices;
}

function* namedUsers(model: Model, policies: readonly CompiledPolicy[]): Work<ReadonlySet<string>> {
  const members = yield* indexingUsers(model.users);
  const ids = new Set<string>();
  for (const { facts } of policies) {
    yield* adding(facts.users, ids);
    for (const group of facts.groups) yield* adding(members.idsOf(group), ids);
  }
  return ids;
}

function* namedDevices(model: Model, policies: readonly CompiledPolicy[]): Work<ReadonlySet<string>> {
  const devices = yield* indexingDevices(model.devices);
  const ids = new Set<string>();
  for (const { facts } of policies) yield* adding(facts.devices, ids);
  for (const userId of yield* namedUsers(model, policies)) yield* adding(devices.idsOf(userId), ids);
  return ids;
}

function* adding(items: Iterable<string>, ids: Set<string>): Work<void> {
  let unpaid = 1;
  for (const id of items) {
    ids.add(id);
    unpaid += 1;
    if (unpaid < entriesAtOnce) continue;
    yield unpaid * entryCost;
    unpaid = 0;
  }
  yield unpaid * entryCost;
}
