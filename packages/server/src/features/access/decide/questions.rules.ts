/** Translates requests of the AuthZEN API into requests of the policy engine, and shapes them for the commands. */

import { peerAddress } from "@gatehouse/addresses/source-ips";
import {
  type AccessAction,
  type AccessContext,
  type AccessResource,
  type AccessSubject,
  BatchEvaluation,
  maxProperties,
} from "@gatehouse/contract/operations/access.operations";
import type { requestReasons } from "@gatehouse/contract/records/decision";
import { transportProtocols } from "@gatehouse/contract/records/protocol";
import type { AccessRequest, Destination, Subject } from "@gatehouse/policy/decisions/request";
import type { SearchCircumstances } from "@gatehouse/policy/decisions/search";
import type { Properties, TransportProtocol } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { AppError } from "../../../platform/app-error.ts";
import { isUuid } from "../../../platform/ids.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import { canonicalTimestamp } from "../../../platform/timestamps.ts";
import { type PageRequest, type PageStart, readPage } from "./pages.rules.ts";

export type SubjectEntity = Static<typeof AccessSubject>;
export type ResourceEntity = Static<typeof AccessResource>;
export type ActionEntity = Static<typeof AccessAction>;
export type ContextEntity = Static<typeof AccessContext>;

/** A complete request for a decision. */
export interface Question {
  readonly subject: SubjectEntity;
  readonly action: ActionEntity;
  readonly resource: ResourceEntity;
  readonly context?: ContextEntity | undefined;
}

/** The only action on a resource. */
export const connect = "connect";

/** A denial that needs no evaluation of policies. */
export type QuestionReason = (typeof requestReasons)[number];

const isBatchEvaluation = Compile(BatchEvaluation);

/** A problem in a request that its schema does not detect. */
export interface QuestionProblem {
  /** JSON Pointer relative to the entity. */
  readonly pointer: string;
  readonly message: string;
}

export interface Circumstances extends SearchCircumstances {
  /** The device id as the request gives it. */
  readonly deviceId: string | undefined;
  readonly explain: boolean;
}

/** @param now used if the request names no time */
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

/** The principal. An unknown id is passed on as it is: the engine reports that no such record exists. */
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
  const known = deviceId === undefined ? undefined : model.devices.get(deviceId);
  const device = deviceId === undefined ? undefined : (known?.facts.id ?? canonicalId(deviceId));
  // Most requests name the owner of the device. A comparison is cheaper than a lookup among 100,000 users.
  const userId = known?.userId === id ? known.userId : userNamed(tenant, id);
  const subject: Subject = device === undefined ? { kind: "user", userId } : { kind: "user", userId, deviceId: device };
  if (properties === undefined) return subject;
  const attributes = standIns(model.users.get(userId)?.facts.attributes, properties);
  const posture = device === undefined ? undefined : withPosture(tenant, device, {}, properties);
  return { ...subject, attributes, ...(posture === undefined ? {} : { posture }) };
}

/** The id of a user as the model stores it. Lookups by that very string are faster than by an equal one. */
function userNamed(tenant: TenantModel, text: string): string {
  const { users } = tenant.model;
  const id = users.get(text)?.facts.id;
  if (id !== undefined) return id;
  const given = canonicalId(text);
  return users.get(given)?.facts.id ?? tenant.userIdOf(text) ?? given;
}

/** The id of a device as the model stores it. */
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

/** @param properties facts at the top level; facts under `posture` are merged over them */
function withPosture({ model }: TenantModel, deviceId: string, properties: Given, { posture }: Given): Properties {
  const direct = standIns(model.devices.get(deviceId)?.facts.posture, properties);
  return posture === undefined ? direct : standIns(direct, posture as Given); // the schema requires an object
}

type Given = Readonly<Record<string, unknown>>;

/** Given values replace stored ones with the same name. Values that rules cannot read count as missing. */
function standIns(stored: Properties | undefined, given: Given): Properties {
  const merged = new Map<string, string | number | boolean>(Object.entries(stored ?? {}));
  for (const [name, value] of Object.entries(given)) {
    if (name === "posture" && typeof value === "object") continue;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") merged.set(name, value);
    else merged.delete(name);
  }
  return Object.fromEntries(merged);
}

/** A rejected value for an error message. Long values are shortened. */
function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** The destination of the request. */
export function readDestination(
  { type, id, properties }: ResourceEntity,
  tenant: TenantModel,
): Destination | QuestionReason | QuestionProblem {
  if (type === "resource") return { kind: "resource", resourceId: resourceNamed(tenant, id) };
  if (type !== "address") return "unknown_resource_type";
  const { protocol, port } = (properties ?? {}) as Given; // the schema allows any properties
  if (protocol !== undefined && !isTransportProtocol(protocol)) {
    return {
      pointer: "/properties/protocol",
      message: `must be one of ${transportProtocols.join(", ")}, not ${valueText(protocol)}`,
    };
  }
  if (port === undefined) return { kind: "address", address: id, ...(protocol === undefined ? {} : { protocol }) };
  if (protocol === undefined || protocol === "ICMP") {
    return { pointer: "/properties/port", message: "needs a protocol that has ports: TCP or UDP" };
  }
  const number = typeof port === "string" && /^\d{1,5}$/.test(port) ? Number(port) : port;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 1 || number > 65_535) {
    return { pointer: "/properties/port", message: `must be an integer from 1 to 65535, not ${valueText(port)}` };
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

/** A question without invalid parts. */
export interface PreparedQuestion {
  readonly explain: boolean;
  /** The request to the engine, or the reason for a denial without an evaluation. */
  readonly asked: AccessRequest | QuestionReason;
  /** The problem of an invalid evaluation. */
  readonly error?: string;
}

/**
 * @param pointer to the question in the body
 * @throws AppError invalid_body
 */
export function prepareQuestion(question: Question, pointer: string, now: Date, tenant: TenantModel): PreparedQuestion {
  const circumstances = requireCircumstances(question.context, pointer, now);
  const destination = requireValid(readDestination(question.resource, tenant), `${pointer}/resource`);
  const subject = readSubject(question.subject, circumstances, tenant);
  const { explain, now: at, sourceIp, country } = circumstances;
  if (question.action.name !== connect) return { explain, asked: "unknown_action" };
  if (typeof subject === "string") return { explain, asked: subject };
  if (typeof destination === "string") return { explain, asked: destination };
  return { explain, asked: { subject, destination, now: at, sourceIp, country } };
}

/**
 * Prepares an evaluation of a batch. An invalid one is denied by itself, as the certification of AuthZEN requires.
 *
 * @param defaults parts for questions that do not give their own
 */
export function prepareEvaluation(
  evaluation: Partial<Question>,
  defaults: Partial<Question>,
  now: Date,
  tenant: TenantModel,
): PreparedQuestion {
  const invalid = { explain: false, asked: "invalid_evaluation" } as const;
  // Counting is much faster than the check, which reads every property first.
  if (hasMore(evaluation?.subject?.properties, maxProperties) || !isBatchEvaluation.Check(evaluation)) {
    return { ...invalid, error: "The evaluation does not match the schema." };
  }
  try {
    return prepareQuestion(mergeQuestion(evaluation, defaults, ""), "", now, tenant);
  } catch (error) {
    if (error instanceof AppError && error.code === "invalid_body") return { ...invalid, error: error.detail };
    throw error;
  }
}

/** Whether an object has more properties. */
function hasMore(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  let count = 0;
  for (const _name in value) {
    count += 1;
    if (count > most) return true;
  }
  return false;
}

/**
 * @param defaults parts for questions that do not give their own
 * @throws AppError invalid_body
 */
export function mergeQuestion(question: Partial<Question>, defaults: Partial<Question>, pointer: string): Question {
  const { subject = defaults.subject, action = defaults.action, resource = defaults.resource } = question;
  if (subject === undefined) throw invalidBody(`${pointer}/subject`, "is required");
  if (action === undefined) throw invalidBody(`${pointer}/action`, "is required");
  if (resource === undefined) throw invalidBody(`${pointer}/resource`, "is required");
  return { subject, action, resource, context: question.context ?? defaults.context };
}

/** @throws AppError invalid_body */
export function requireCircumstances(context: ContextEntity | undefined, pointer: string, now: Date): Circumstances {
  return requireValid(readCircumstances(context, now), `${pointer}/context`);
}

/** @throws AppError invalid_body */
export function requireValid<Value extends object | string>(value: Value | QuestionProblem, pointer: string): Value {
  if (typeof value === "object" && "pointer" in value && "message" in value) {
    throw invalidBody(pointer + value.pointer, value.message);
  }
  return value as Value; // not a problem
}

/** @throws AppError invalid_body */
export function requirePage(page: PageRequest | undefined, asked: object): PageStart {
  const start = readPage(page ?? {}, asked);
  if (start === undefined) throw invalidBody("/page/token", "is not a next_token of this request");
  return start;
}

export function invalidBody(pointer: string, message: string): AppError {
  return new AppError("invalid_body", { detail: `${pointer}: ${message}.`, errors: [{ pointer, message }] });
}
