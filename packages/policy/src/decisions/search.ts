import type { CompiledPolicy } from "../model/compiled-policy.ts";
import { devicesByUser, usersByGroup } from "../model/members.ts";
import type { Model } from "../model/model.ts";
import { decide } from "./decide.ts";
import type { Decision } from "./decision.ts";
import type { AccessRequest, Destination, Subject } from "./request.ts";
import { resolveDestination } from "./resolve-destination.ts";

/** Circumstances that all requests of a search share. */
export type SearchCircumstances = Pick<AccessRequest, "sourceIp" | "country" | "now">;

/** Something found, and the decision that lets it be. */
export interface Found {
  readonly id: string;
  readonly decision: Decision;
}

/** What a subject may reach: the same as asking for each resource in turn, ordered by id. */
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
 * Who may reach a destination: the same as asking for each user (without a device) or each device in turn, ordered by id.
 *
 * @param kind whether to look for users or for devices
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

/** The ids of everybody whom some policy that allows names, and perhaps more, in order; nobody else can be allowed. */
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
    for (const group of facts.groups) for (const user of members.get(group) ?? []) ids.add(user.facts.id);
  }
  return ids;
}

function namedDevices(model: Model, policies: readonly CompiledPolicy[]): ReadonlySet<string> {
  const devices = devicesByUser(model.devices);
  const ids = new Set(policies.flatMap(({ facts }) => facts.devices));
  for (const userId of namedUsers(model, policies))
    for (const { facts } of devices.get(userId) ?? []) ids.add(facts.id);
  return ids;
}
