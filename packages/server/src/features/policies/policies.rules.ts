import type { BodyOf } from "@gatehouse/contract/operation";
import type { updatePolicy } from "@gatehouse/contract/operations/policies.operations";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import { canonicalIds } from "../references/references.api.ts";

/** The fields of a policy that list other records. */
export const policyLists = ["groups", "users", "devices", "resources", "gateways"] as const;
export type PolicyList = (typeof policyLists)[number];

/** What an administrator sets of a policy; its type is set once. */
export interface PolicySettings extends Readonly<Record<PolicyList, readonly string[]>> {
  readonly name: string;
  readonly action: boolean;
  readonly mode: PolicyMode | null;
  readonly allGroups: boolean;
  readonly allUsers: boolean;
  readonly allDevices: boolean;
  readonly allResources: boolean;
  readonly sourceIps: readonly string[];
  readonly ruleId: string;
  readonly description: string;
}

/** The settings as a request gives them: those to set, the others absent. */
export type RequestedSettings = BodyOf<typeof updatePolicy>;

/** What a new policy has where its request says nothing. */
export function initialSettings(name: string, action: boolean, ruleId: string): PolicySettings {
  return {
    name,
    action,
    mode: null,
    allGroups: false,
    allUsers: false,
    allDevices: false,
    allResources: false,
    groups: [],
    users: [],
    devices: [],
    resources: [],
    gateways: [],
    sourceIps: [],
    ruleId,
    description: "",
  };
}

/**
 * The settings with what a request sets of them. Lists of records are sets, kept in order of id; gateways keep their order.
 *
 * @param requested its sourceIps in canonical form
 */
export function mergeSettings(
  type: PolicyType,
  settings: PolicySettings,
  requested: RequestedSettings,
): PolicySettings {
  const { groups, users, devices, resources, gateways } = requested;
  const action = requested.action ?? settings.action;
  return {
    name: requested.name ?? settings.name,
    action,
    mode: modeOf(type, action, requested.mode ?? settings.mode),
    allGroups: requested.allGroups ?? settings.allGroups,
    allUsers: requested.allUsers ?? settings.allUsers,
    allDevices: requested.allDevices ?? settings.allDevices,
    allResources: requested.allResources ?? settings.allResources,
    groups: groups === undefined ? settings.groups : canonicalIds(groups).sort(),
    users: users === undefined ? settings.users : canonicalIds(users).sort(),
    devices: devices === undefined ? settings.devices : canonicalIds(devices).sort(),
    resources: resources === undefined ? settings.resources : canonicalIds(resources).sort(),
    gateways: gateways === undefined ? settings.gateways : canonicalIds(gateways),
    sourceIps: requested.sourceIps ?? settings.sourceIps,
    ruleId: requested.rule?.toLowerCase() ?? settings.ruleId,
    description: requested.description ?? settings.description,
  };
}

/** An INTERNET policy that allows says what traffic does: it stays on the device's own connection unless told otherwise. */
function modeOf(type: PolicyType, action: boolean, mode: PolicyMode | "REMOTE" | null): PolicyMode | null {
  if (mode === "REMOTE") return "INTERNET_ACCESS_POINT";
  return mode ?? defaultMode(type, action);
}

/** The mode of a policy that is given none; null where it has none. */
export function defaultMode(type: PolicyType, action: boolean): PolicyMode | null {
  return type === "INTERNET" && action ? "LOCAL" : null;
}

/** What the default policy lets be changed; everything else makes it the policy that decides whatever is left. */
const changeableOfDefault: ReadonlySet<string> = new Set(["mode", "gateways", "description"]);

/** Fields of the default policy that a change must leave as they are, and does not; named as in requests. */
export function fixedFieldsChanged(before: PolicySettings, after: PolicySettings): readonly string[] {
  return changedFields(before, after)
    .filter((field) => !changeableOfDefault.has(field))
    .map((field) => (field === "ruleId" ? "rule" : field));
}

/** The settings in which two differ. */
export function changedFields(before: PolicySettings, after: PolicySettings): readonly (keyof PolicySettings)[] {
  const fields = Object.keys(after) as (keyof PolicySettings)[]; // the keys of an object of this type
  // Settings are texts, flags and lists of texts.
  return fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
}

/**
 * The rules between fields that the settings would break.
 *
 * @param requested what the request gives of the settings: problems point to it
 * @param ruleType of the rule that the settings name
 */
export function combinationProblems(
  type: PolicyType,
  settings: PolicySettings,
  requested: RequestedSettings,
  ruleType: AdmissionRule["type"],
): readonly ProblemField[] {
  const problems: ProblemField[] = [];
  if (settings.mode !== null && type !== "INTERNET") {
    problems.push({ pointer: "/mode", message: `only INTERNET policies have a mode, not ${type}` });
  }
  if (type === "SITETOSITE") {
    for (const field of ["allGroups", "allUsers", "allDevices"] as const) {
      if (settings[field]) problems.push({ pointer: `/${field}`, message: siteToSiteHasNoSources });
    }
    for (const field of ["groups", "users", "devices"] as const) {
      if (settings[field].length > 0) problems.push({ pointer: `/${field}`, message: siteToSiteHasNoSources });
    }
  }
  if (!settings.action && ruleType !== "ALLOW") {
    const message = "a policy that denies may carry only the built-in rule ALLOW: it denies at once";
    problems.push({ pointer: requested.rule === undefined ? "/action" : "/rule", message });
  }
  return problems;
}

const siteToSiteHasNoSources = "a SITETOSITE policy has no sources: its traffic enters at a site";
