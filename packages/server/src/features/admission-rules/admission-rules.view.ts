import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { jsonObject } from "../../platform/db/json-object.ts";
import type { AdmissionRuleRow } from "./admission-rules.queries.ts";

/** An admission rule as `admissionRuleJson` selects it. */
export type AdmissionRuleJson = Omit<AdmissionRuleRow, "version">;

/**
 * SQL for an admission rule as one json value.
 *
 * @param alias the name of the row of `admission_rules`
 */
export function admissionRuleJson(alias: string): string {
  return jsonObject(alias, ["id", "created_at", "updated_at", "name", "type", "has_time_constraint", "rule"]);
}

export function admissionRuleView(row: AdmissionRuleJson): AdmissionRule {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    type: row.type,
    hasTimeConstraint: row.has_time_constraint,
    ...(row.rule === null ? {} : { rule: row.rule }),
  };
}

/** The rule as policies embed it. Timestamps inside JSON values have another format than columns. */
export function embeddedAdmissionRuleView(json: AdmissionRuleJson): AdmissionRule {
  return admissionRuleView({
    ...json,
    created_at: isoTimestamp(json.created_at),
    updated_at: isoTimestamp(json.updated_at),
  });
}
