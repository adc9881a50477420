import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { DeviceFacts, UserFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { contextOf } from "./access-level.ts";
import type { KnownCircumstances } from "./open-circumstances.ts";
import { type Certainty, certaintyOf, costOfCertainty } from "./open-rule.ts";
import { type InputPath, inputsOf } from "./rule-inputs.ts";

/** The user and device of a principal in one model. Both are undefined for a site. */
export interface RuleSubject {
  readonly user: UserFacts | undefined;
  readonly device: DeviceFacts | undefined;
}

/** A value in the key of a cached result. */
const keyCost = 8;

type Value = string | number | boolean | undefined;

/**
 * Results by the value at each path in turn, and by the kind of subject at the end. A text of all values would have to
 * be built and hashed for each lookup.
 */
type ResultsByValue = Map<Value, ResultsByValue | Certainty>;

interface CachedResults {
  /** The number of results. */
  size: number;
  readonly byValue: ResultsByValue;
}

/** The maximum number of results cached for one rule. */
const maxCached = 20_000;

/**
 * Caches the results of rules by the values that the rules read, because thousands of users share a few departments.
 * Valid for one comparison, in which the circumstances do not change.
 */
export class RuleCertainties {
  readonly #circumstances: KnownCircumstances;
  readonly #cached = new Map<CompiledRule, CachedResults>();
  #spent = 0;

  constructor(circumstances: KnownCircumstances) {
    this.#circumstances = circumstances;
  }

  /** The units of cost since the last call. */
  takeSpent(): number {
    const spent = this.#spent;
    this.#spent = 0;
    return spent;
  }

  of(rule: CompiledRule, model: Model, subject: RuleSubject, resource: CompiledResource | undefined): Certainty {
    const { type } = rule.facts;
    if (type !== "CUSTOM") return type === "ALLOW" ? "yes" : "no";
    const { paths } = inputsOf(rule);
    if (paths === undefined) return this.#evaluate(rule, model, subject, resource);
    let cached = this.#cached.get(rule);
    if (cached === undefined) {
      cached = { size: 0, byValue: new Map() };
      this.#cached.set(rule, cached);
    }
    this.#spent += keyCost * (paths.length + (subject.user?.groups.length ?? 0));
    let { byValue } = cached;
    const { user, device } = subject;
    for (const path of paths) {
      const value = valueAt(path, model, user, device, resource);
      let next = byValue.get(value);
      if (typeof next !== "object") {
        next = new Map();
        if (cached.size < maxCached) byValue.set(value, next);
      }
      byValue = next;
    }
    const kind = user === undefined ? "site" : device === undefined ? "user" : "device";
    const known = byValue.get(kind);
    if (typeof known === "string") return known;
    const certainty = this.#evaluate(rule, model, subject, resource);
    if (cached.size < maxCached) {
      cached.size += 1;
      byValue.set(kind, certainty);
    }
    return certainty;
  }

  #evaluate(
    rule: CompiledRule,
    model: Model,
    { user, device }: RuleSubject,
    resource: CompiledResource | undefined,
  ): Certainty {
    const principal = { userId: user?.id ?? "", deviceId: device?.id };
    const context = contextOf(model, principal, resource, this.#circumstances);
    const { open } = this.#circumstances;
    this.#spent += costOfCertainty(rule, context, open);
    return certaintyOf(rule, context, open);
  }
}

function valueAt(
  { variable, name }: InputPath,
  model: Model,
  user: UserFacts | undefined,
  device: DeviceFacts | undefined,
  resource: CompiledResource | undefined,
): Value {
  switch (variable) {
    case "user":
      return user === undefined ? undefined : userValue(user, name, model);
    case "posture":
      return device !== undefined && Object.hasOwn(device.posture, name) ? device.posture[name] : undefined;
    case "device":
      return device === undefined ? undefined : deviceValue(device, name);
    case "session":
      return device === undefined ? undefined : sessionValue(device, name);
    case "resource":
      return name === "name" ? resource?.facts.name : name === "type" ? resource?.type : undefined;
  }
}

const deviceFields = ["name", "os", "osVersion", "appVersion", "hardwareId"] as const;

function deviceValue(device: DeviceFacts, name: string): string | boolean | undefined {
  if (name === "agent") return device.agent;
  if (name === "tags") return JSON.stringify(device.tags);
  return isDeviceField(name) ? device[name] : undefined;
}

/** The age follows from the authentication, because the time of a comparison is fixed. */
function sessionValue({ session }: DeviceFacts, name: string): string | number | undefined {
  if (session === undefined || session === null) return undefined;
  if (name === "methods") return JSON.stringify(session.methods);
  return name === "provider" ? (session.provider ?? "") : session.authenticatedAt;
}

function isDeviceField(name: string): name is (typeof deviceFields)[number] {
  return (deviceFields as readonly string[]).includes(name);
}

/** Built-in fields hide attributes of the same name. */
function userValue(user: UserFacts, name: string, { groups }: Model): string | number | boolean | undefined {
  switch (name) {
    case "email":
    case "firstName":
    case "lastName":
    case "status":
      return user[name];
    case "groups":
      return JSON.stringify([...new Set(user.groups)].flatMap((id) => groups.get(id)?.name ?? []).sort());
    default:
      return Object.hasOwn(user.attributes, name) ? user.attributes[name] : undefined;
  }
}
