/** What requests of the AuthZEN API ask, in the terms of the policy engine. */

import { peerAddress } from "@gatehouse/addresses/source-ips";
import type {
  AccessAction,
  AccessContext,
  AccessResource,
  AccessSubject,
} from "@gatehouse/contract/operations/access.operations";
import type { requestReasons } from "@gatehouse/contract/records/decision";
import { transportProtocols } from "@gatehouse/contract/records/protocol";
import type { Destination, Subject } from "@gatehouse/policy/decisions/request";
import type { SearchCircumstances } from "@gatehouse/policy/decisions/search";
import type { Properties, TransportProtocol } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { Static } from "typebox";
import { isUuid } from "../../../platform/ids.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import { canonicalTimestamp } from "../../../platform/timestamps.ts";

export type SubjectEntity = Static<typeof AccessSubject>;
export type ResourceEntity = Static<typeof AccessResource>;
export type ActionEntity = Static<typeof AccessAction>;
export type ContextEntity = Static<typeof AccessContext>;

/** The one thing that can be done with a resource. */
export const connect = "connect";

/** A denial before any policy is asked. */
export type QuestionReason = (typeof requestReasons)[number];

/** What is wrong with a request, where a schema cannot tell. */
export interface QuestionProblem {
  /** Relative to the entity. */
  readonly pointer: string;
  readonly message: string;
}

export interface Circumstances extends SearchCircumstances {
  /** As it was given. */
  readonly deviceId: string | undefined;
  readonly explain: boolean;
}

/** @param now for requests that name no time */
export function readCircumstances(context: ContextEntity | undefined, now: Date): Circumstances | QuestionProblem {
  const { deviceId, sourceIp, country, time, explain = false } = context ?? none;
  const moment = time === undefined ? now.getTime() : readMoment(time);
  if (moment === undefined) {
    return { pointer: "/time", message: "must be a time in ISO 8601 with a zone, such as 2026-01-31T12:00Z" };
  }
  if (sourceIp !== undefined && peerAddress(sourceIp) === undefined) {
    return { pointer: "/sourceIp", message: "must be an IP address" };
  }
  return { now: moment, sourceIp, country, deviceId, explain };
}

const none: ContextEntity = {};

function readMoment(time: string): number | undefined {
  const canonical = time.includes("T") ? canonicalTimestamp(time) : undefined;
  return canonical === undefined ? undefined : Date.parse(canonical);
}

/** Who asks. Whoever is not known keeps the text as id: the engine knows no such record, and says so. */
export function readSubject(
  { type, id, properties }: SubjectEntity,
  { deviceId }: Circumstances,
  tenant: TenantModel,
): Subject | QuestionReason {
  const { model } = tenant;
  if (type === "device") {
    const subject: Subject = { kind: "device", deviceId: deviceNamed(model, id) };
    return properties === undefined
      ? subject
      : { ...subject, posture: withPosture(tenant, subject.deviceId, properties, properties) };
  }
  if (type !== "user") return "unknown_subject_type";
  const userId = userNamed(tenant, id);
  const device = deviceId === undefined ? undefined : deviceNamed(model, deviceId);
  const subject: Subject = device === undefined ? { kind: "user", userId } : { kind: "user", userId, deviceId: device };
  if (properties === undefined) return subject;
  const attributes = standIns(model.users.get(userId)?.facts.attributes, properties);
  const posture = device === undefined ? undefined : withPosture(tenant, device, {}, properties);
  return { ...subject, attributes, ...(posture === undefined ? {} : { posture }) };
}

/** What a record is found by is its id as the model has it: to find it again by that costs less than by a text of the same letters. */
function userNamed(tenant: TenantModel, text: string): string {
  const { users } = tenant.model;
  const id = users.get(text)?.facts.id;
  if (id !== undefined) return id;
  const given = canonicalId(text);
  return users.get(given)?.facts.id ?? tenant.userIdOf(text) ?? given;
}

/** The id of a device, as the model has it. */
export function deviceNamed({ devices }: Model, text: string): string {
  return devices.get(text)?.facts.id ?? canonicalId(text);
}

function resourceNamed(tenant: TenantModel, text: string): string {
  const { resources } = tenant.model;
  const id = resources.get(text)?.facts.id;
  if (id !== undefined) return id;
  const given = canonicalId(text);
  return resources.get(given)?.facts.id ?? tenant.resourceIdOf(text) ?? given;
}

/** @param properties what is given of the device directly; what is given under `posture` adds to it */
function withPosture({ model }: TenantModel, deviceId: string, properties: Given, { posture }: Given): Properties {
  const direct = standIns(model.devices.get(deviceId)?.facts.posture, properties);
  return posture === undefined ? direct : standIns(direct, posture as Given); // the schema demands an object
}

type Given = Readonly<Record<string, unknown>>;

/** Each value that is given stands in for the stored one of its name; what rules cannot read counts as absent. */
function standIns(stored: Properties | undefined, given: Given): Properties {
  const merged = new Map<string, string | number | boolean>(Object.entries(stored ?? {}));
  for (const [name, value] of Object.entries(given)) {
    if (name === "posture" && typeof value === "object") continue;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") merged.set(name, value);
    else merged.delete(name);
  }
  return Object.fromEntries(merged);
}

/** What is asked for. */
export function readDestination(
  { type, id, properties }: ResourceEntity,
  tenant: TenantModel,
): Destination | QuestionReason | QuestionProblem {
  if (type === "resource") return { kind: "resource", resourceId: resourceNamed(tenant, id) };
  if (type !== "address") return "unknown_resource_type";
  const { protocol, port } = (properties ?? {}) as Given; // an open object
  if (protocol !== undefined && !isTransportProtocol(protocol)) {
    return { pointer: "/properties/protocol", message: `must be one of ${transportProtocols.join(", ")}` };
  }
  if (port === undefined) return { kind: "address", address: id, ...(protocol === undefined ? {} : { protocol }) };
  if (protocol === undefined || protocol === "ICMP") {
    return { pointer: "/properties/port", message: "needs a protocol that has ports: TCP or UDP" };
  }
  const number = typeof port === "string" && /^\d{1,5}$/.test(port) ? Number(port) : port;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 1 || number > 65_535) {
    return { pointer: "/properties/port", message: "must be a whole number from 1 to 65535" };
  }
  return { kind: "address", address: id, protocol, port: number };
}

function isTransportProtocol(value: unknown): value is TransportProtocol {
  return transportProtocols.some((known) => known === value);
}

/** Ids as they are stored: in lower case (RFC 9562, section 4). */
export function canonicalId(text: string): string {
  return isUuid(text) ? text.toLowerCase() : text;
}
