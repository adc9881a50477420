import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import { AppError } from "../../platform/app-error.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { existingRuleTypes } from "../admission-rules/admission-rules.api.ts";
import { canonicalIds, existingRecords, missingIds, refuseMissing } from "../references/references.api.ts";
import { combinationProblems, type PolicySettings, type RequestedSettings } from "./policies.rules.ts";

export interface SettingsToValidate {
  readonly type: PolicyType;
  /** The settings as they would be stored. */
  readonly settings: PolicySettings;
  /**
   * The part of the settings that the request gives. Errors point into it. The records that it names cannot be deleted
   * before the transaction ends.
   */
  readonly requested: RequestedSettings;
  /** The type of the current admission rule, used if the request names none. */
  readonly ruleType: AdmissionRule["type"];
}

/**
 * Checks a policy's settings, and that the records exist that they name.
 *
 * @throws AppError unknown_reference, invalid_combination
 */
export async function validatePolicySettings(tx: TenantTx, toValidate: SettingsToValidate): Promise<void> {
  const { type, settings, requested } = toValidate;
  const ruleType = await requireReferences(tx, requested, toValidate.ruleType);
  const errors = combinationProblems(type, settings, requested, ruleType);
  if (errors.length > 0) throw new AppError("invalid_combination", { errors });
}

const references = [
  { pointer: "/groups", list: "groups", noun: "group" },
  { pointer: "/users", list: "users", noun: "user" },
  { pointer: "/devices", list: "devices", noun: "device" },
  { pointer: "/resources", list: "resources", noun: "resource" },
  { pointer: "/gateways", list: "gateways", noun: "gateway" },
] as const;

/**
 * @returns the type of the rule that the policy is to have
 * @throws AppError unknown_reference
 */
async function requireReferences(
  tx: TenantTx,
  requested: RequestedSettings,
  currentRuleType: AdmissionRule["type"],
): Promise<AdmissionRule["type"]> {
  const { rule } = requested;
  const [ruleTypes, ...missing] = await Promise.all([
    existingRuleTypes(tx, rule === undefined ? [] : canonicalIds([rule])),
    ...references.map(async ({ pointer, list, noun }) => {
      const ids = requested[list] ?? [];
      return missingIds({ pointer, noun, ids }, await existingRecords(tx, noun, canonicalIds(ids)));
    }),
  ]);
  const ruleType = rule === undefined ? currentRuleType : ruleTypes.get(rule.toLowerCase());
  const missingRule =
    ruleType === undefined
      ? [{ pointer: "/rule", message: `no admission rule has the id ${JSON.stringify(rule)}` }]
      : [];
  refuseMissing([...missing.flat(), ...missingRule]);
  return ruleType ?? currentRuleType; // a missing rule was refused above
}
