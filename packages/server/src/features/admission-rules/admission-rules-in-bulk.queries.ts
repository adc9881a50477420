/** All admission rules of a tenant, and many at once: for configurations, which are read and written as a whole. */
import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface BulkRule {
  readonly id: string;
  readonly name: string;
  readonly rule: string;
  readonly hasTimeConstraint: boolean;
}

export interface BulkRuleRow extends Omit<BulkRule, "rule"> {
  readonly type: AdmissionRule["type"];
  /** Null for the built-in rules. */
  readonly rule: string | null;
}

const selectAll = statement<BulkRuleRow, [tenantId: string]>(
  "admission_rules.read_all",
  `SELECT id, name, type, rule, has_time_constraint AS "hasTimeConstraint" FROM admission_rules WHERE tenant_id = $1`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, rule text, "hasTimeConstraint" boolean)`;
const insertMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "admission_rules.insert_many",
  `INSERT INTO admission_rules (tenant_id, id, created_at, updated_at, name, type, rule, has_time_constraint)
   SELECT $1, id, $2, $2, name, 'CUSTOM', rule, "hasTimeConstraint" FROM ${given}`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "admission_rules.update_many",
  `UPDATE admission_rules AS item
   SET updated_at = $2, version = version + 1, rule = given.rule, has_time_constraint = given."hasTimeConstraint"
   FROM ${given} WHERE item.tenant_id = $1 AND item.id = given.id AND item.type = 'CUSTOM'`,
);
const deleteMany = statement<never, [tenantId: string, ids: readonly string[]]>(
  "admission_rules.delete_many",
  "DELETE FROM admission_rules WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND type = 'CUSTOM'",
);

export function readAllAdmissionRules(tx: TenantTx): Promise<BulkRuleRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

/** Their names must be free, and their texts checked. */
export function insertAdmissionRules(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  rules: readonly BulkRule[],
  at: Date,
): Promise<void> {
  return writeInChunks(rules, (rows) => tx.query(insertMany, tx.tenantId, at, rows));
}

/** Everything but their names. */
export function updateAdmissionRules(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  rules: readonly BulkRule[],
  at: Date,
): Promise<void> {
  return writeInChunks(rules, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** No policy may use them any more. */
export async function deleteAdmissionRules(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(deleteMany, tx.tenantId, ids);
}
