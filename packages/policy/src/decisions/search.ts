import type { CompiledPolicy } from "../model/compiled-policy.ts";
import { devicesByUser, usersByGroup } from "../model/members.ts";
import type { Model } from "../model/model.ts";
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
  for (const resourceId of resourceIds(model)) {
    const decision = decide(model, { ...circumstances, subject, destination: { kind: "resource", resourceId } });
    if (decision.allowed) yield { id: resourceId, decision };
  }
}

/** The ids of all resources, in order. */
export function resourceIds(model: Model): readonly string[] {
  return Array.from(model.resources.values(), ({ facts }) => facts.id).sort();
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
  for (const id of possibleSubjects(model, kind, destination)) {
    const subject: Subject = kind === "user" ? { kind, userId: id } : { kind, deviceId: id };
    const decision = decide(model, { ...circumstances, subject, destination });
    if (decision.allowed) yield { id, decision };
  }
}

/**
 * The ids of all subjects that an allowing policy names, in order. May contain more ids. No other subject can be
 * allowed.
 */
export function possibleSubjects(model: Model, kind: "user" | "device", destination: Destination): readonly string[] {
  return [...namedSubjects(model, kind, destination)].sort();
}

function namedSubjects(model: Model, kind: "user" | "device", destination: Destination): Iterable<string> {
  const { resource, denied } = resolveDestination(model, destination);
  if (denied !== undefined) return [];
  const list = model.policies[resource?.facts.type ?? "INTERNET"];
  const policies =
    resource === undefined
      ? list.anywhere.policies
      : [...list.everywhere.policies, ...(resource.policiesIn(list)?.policies ?? [])];
  const allowing = policies.filter(({ facts }) => facts.action);
  if (list.fallback !== undefined || allowing.some(isForMany)) return allSubjects(model, kind);
  return kind === "user" ? namedUsers(model, allowing) : namedDevices(model, allowing);
}

function isForMany({ forAnyone, facts }: CompiledPolicy): boolean {
  return forAnyone || facts.allGroups || facts.allDevices;
}

function* allSubjects(model: Model, kind: "user" | "device"): Iterable<string> {
  if (kind === "device") for (const { facts } of model.devices.values()) yield facts.id;
  else for (const { facts } of model.users.values()) yield facts.id;
}

function namedUsers(model: Model, policies: readonly CompiledPolicy[]): ReadonlySet<string> {
  const members = usersByGroup(model.users);
  const ids = new Set<string>();
  for (const { facts } of policies) {
    for (const id of facts.users) ids.add(id);
    for (const group of facts.groups) for (const id of members.idsOf(group)) ids.add(id);
  }
  return ids;
}

function namedDevices(model: Model, policies: readonly CompiledPolicy[]): ReadonlySet<string> {
  const devices = devicesByUser(model.devices);
  const ids = new Set(policies.flatMap(({ facts }) => facts.devices));
  for (const userId of namedUsers(model, policies)) for (const id of devices.idsOf(userId)) ids.add(id);
  return ids;
}
