/** Checks a policy's settings against the records that they name. */
import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import { AppError } from "../../platform/app-error.ts";
import { askable, refuseUnknown, unknownReferences } from "../../platform/references.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { knownAdmissionRules } from "../admission-rules/admission-rules.api.ts";
import { knownDevices } from "../devices/devices.api.ts";
import { knownGateways } from "../gateways/gateways.api.ts";
import { knownGroups } from "../groups/groups.api.ts";
import { knownResources } from "../resources/resources.api.ts";
import { knownUsers } from "../users/users.api.ts";
import { combinationProblems, type PolicySettings, type RequestedSettings } from "./policies.rules.ts";

export interface SettingsToCheck {
  readonly type: PolicyType;
  /** As they would be stored. */
  readonly settings: PolicySettings;
  /** What the request gives of them: errors point into it, and what it names is held until the transaction ends. */
  readonly requested: RequestedSettings;
  /** Of the rule that the policy has where the request names none. */
  readonly ruleType: AdmissionRule["type"];
}

/** @throws AppError unknown_reference, invalid_combination */
export async function requireSoundSettings(tx: TenantTx, check: SettingsToCheck): Promise<void> {
  const { type, settings, requested } = check;
  const ruleType = await requireNamedRecords(tx, requested, check.ruleType);
  const errors = combinationProblems(type, settings, requested, ruleType);
  if (errors.length > 0) throw new AppError("invalid_combination", { errors });
}

/**
 * @returns the type of the rule that the policy is to have
 * @throws AppError unknown_reference
 */
async function requireNamedRecords(
  tx: TenantTx,
  requested: RequestedSettings,
  ruleType: AdmissionRule["type"],
): Promise<AdmissionRule["type"]> {
  const { groups = [], users = [], devices = [], resources = [], gateways = [], rule } = requested;
  const [groupIds, userIds, deviceIds, resourceIds, gatewayIds, ruleTypes] = await Promise.all([
    knownGroups(tx, askable(groups)),
    knownUsers(tx, askable(users)),
    knownDevices(tx, askable(devices)),
    knownResources(tx, askable(resources)),
    knownGateways(tx, askable(gateways)),
    knownAdmissionRules(tx, rule === undefined ? [] : askable([rule])),
  ]);
  const namedRuleType = rule === undefined ? ruleType : ruleTypes.get(rule.toLowerCase());
  const unknown = [
    ...unknownReferences({ pointer: "/groups", noun: "group", ids: groups }, groupIds),
    ...unknownReferences({ pointer: "/users", noun: "user", ids: users }, userIds),
    ...unknownReferences({ pointer: "/devices", noun: "device", ids: devices }, deviceIds),
    ...unknownReferences({ pointer: "/resources", noun: "resource", ids: resources }, resourceIds),
    ...unknownReferences({ pointer: "/gateways", noun: "gateway", ids: gateways }, gatewayIds),
  ];
  if (namedRuleType === undefined) {
    unknown.push({ pointer: "/rule", message: `no admission rule has the id ${JSON.stringify(rule)}` });
  }
  refuseUnknown(unknown);
  // One that is unknown was refused just now.
  return namedRuleType ?? ruleType;
}
