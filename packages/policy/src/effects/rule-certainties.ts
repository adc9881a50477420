import type { CompiledResource } from "../model/compiled-resource.ts";
import type { CompiledRule } from "../model/compiled-rule.ts";
import type { DeviceFacts, UserFacts } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { contextOf } from "./access-level.ts";
import type { KnownCircumstances } from "./open-circumstances.ts";
import { type Certainty, certaintyOf, type InputPath, inputsOf } from "./open-rule.ts";

/** Who is asked about, in one model; both are absent for a site. */
export interface RuleSubject {
  readonly user: UserFacts | undefined;
  readonly device: DeviceFacts | undefined;
}

/** Beyond so many different answers of one rule, they are not kept. */
const maxKept = 20_000;

/**
 * What rules give, remembered by the values that they read: thousands of users have a few departments. Of one comparison, in
 * which the circumstances are the same.
 */
export class RuleCertainties {
  readonly #circumstances: KnownCircumstances;
  readonly #kept = new Map<CompiledRule, Map<string, Certainty>>();

  constructor(circumstances: KnownCircumstances) {
    this.#circumstances = circumstances;
  }

  of(rule: CompiledRule, model: Model, subject: RuleSubject, resource: CompiledResource | undefined): Certainty {
    const { type } = rule.facts;
    if (type !== "CUSTOM") return type === "ALLOW" ? "yes" : "no";
    const { paths } = inputsOf(rule);
    if (paths === undefined) return this.#asked(rule, model, subject, resource);
    let kept = this.#kept.get(rule);
    if (kept === undefined) {
      kept = new Map();
      this.#kept.set(rule, kept);
    }
    const key = keyOf(paths, model, subject, resource);
    let certainty = kept.get(key);
    if (certainty === undefined) {
      certainty = this.#asked(rule, model, subject, resource);
      if (kept.size < maxKept) kept.set(key, certainty);
    }
    return certainty;
  }

  #asked(
    rule: CompiledRule,
    model: Model,
    { user, device }: RuleSubject,
    resource: CompiledResource | undefined,
  ): Certainty {
    const who = { userId: user?.id ?? "", deviceId: device?.id };
    return certaintyOf(rule, contextOf(model, who, resource, this.#circumstances), this.#circumstances.open);
  }
}

/** The values of all paths as one text, from which each could be read again. */
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
      return device === undefined || !isDeviceField(name) ? undefined : device[name];
    case "resource":
      return name === "name" ? resource?.facts.name : name === "type" ? resource?.facts.type : undefined;
  }
}

const deviceFields = ["name", "os", "osVersion", "appVersion", "hardwareId"] as const;

function isDeviceField(name: string): name is (typeof deviceFields)[number] {
  return (deviceFields as readonly string[]).includes(name);
}

/** The fields hide attributes of their names. */
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
