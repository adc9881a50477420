import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import { estimatedCost } from "../model/evaluation-cost.ts";
import type { DeviceFacts, UserFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { contextOf } from "./access-level.ts";
import type { KnownCircumstances } from "./open-circumstances.ts";
import { type Certainty, certaintyOf, type InputPath, inputsOf } from "./open-rule.ts";

/** The user and device of a principal in one model. Both are undefined for a site. */
export interface RuleSubject {
  readonly user: UserFacts | undefined;
  readonly device: DeviceFacts | undefined;
}

/** A value in the key of a cached result. */
const keyCost = 8;

/** The maximum number of results cached for one rule. */
const maxCached = 20_000;

/**
 * Caches the results of rules by the values that the rules read, because thousands of users share a few departments.
 * Valid for one comparison, in which the circumstances do not change.
 */
export class RuleCertainties {
  readonly #circumstances: KnownCircumstances;
  readonly #cached = new Map<CompiledRule, Map<string, Certainty>>();
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
      cached = new Map();
      this.#cached.set(rule, cached);
    }
    this.#spent += keyCost * (paths.length + (subject.user?.groups.length ?? 0));
    const key = keyOf(paths, model, subject, resource);
    let certainty = cached.get(key);
    if (certainty === undefined) {
      certainty = this.#evaluate(rule, model, subject, resource);
      if (cached.size < maxCached) cached.set(key, certainty);
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
    this.#spent += estimatedCost(rule, context);
    return certaintyOf(rule, context, this.#circumstances.open);
  }
}

/** An unambiguous text of the values at all paths. */
function keyOf(
  paths: readonly InputPath[],
  model: Model,
  { user, device }: RuleSubject,
  resource: CompiledResource | undefined,
): string {
  let key = user === undefined ? "s" : device === undefined ? "u" : "d";
  for (const path of paths) {
    const value = valueAt(path, model, user, device, resource);
    switch (typeof value) {
      case "string":
        key += `${value.length}"${value}`;
        break;
      case "undefined":
        key += "-";
        break;
      default:
        key += `${value};`;
    }
  }
  return key;
}

function valueAt(
  { variable, name }: InputPath,
  model: Model,
  user: UserFacts | undefined,
  device: DeviceFacts | undefined,
  resource: CompiledResource | undefined,
): string | number | boolean | undefined {
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
      return name === "name" ? resource?.facts.name : name === "type" ? resource?.facts.type : undefined;
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
