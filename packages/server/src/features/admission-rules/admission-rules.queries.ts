import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import type { RuleContent } from "./admission-rules.rules.ts";

export interface AdmissionRuleRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly type: AdmissionRule["type"];
  readonly has_time_constraint: boolean;
  /** Null for the built-in rules. */
  readonly rule: string | null;
}

/** The settings of a rule, as configurations read them. */
export interface RuleSettingsRow {
  readonly id: string;
  readonly name: string;
  readonly type: AdmissionRule["type"];
  /** Null for the built-in rules. */
  readonly rule: string | null;
  readonly hasTimeConstraint: boolean;
}

/** A custom rule as it is written. */
export interface StoredRule extends RuleContent {
  readonly id: string;
  readonly name: string;
}

const columns = ["id", "created_at", "updated_at", "version", "name", "type", "has_time_constraint", "rule"]
  .map((column) => `item.${column}`)
  .join(", ");

const selectMany = statement<AdmissionRuleRow, [tenantId: string, afterId: string, limit: number]>(
  "admission_rules.list",
  `SELECT ${columns} FROM admission_rules AS item WHERE item.tenant_id = $1 AND item.id > $2 ORDER BY item.id LIMIT $3`,
);
const selectAll = statement<RuleSettingsRow, [tenantId: string]>(
  "admission_rules.read_all",
  `SELECT id, name, type, rule, has_time_constraint AS "hasTimeConstraint" FROM admission_rules WHERE tenant_id = $1`,
);
const selectOne = statement<AdmissionRuleRow, [tenantId: string, id: string]>(
  "admission_rules.read",
  `SELECT ${columns} FROM admission_rules AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectForChange = statement<AdmissionRuleRow, [tenantId: string, id: string]>(
  "admission_rules.lock",
  `SELECT ${columns} FROM admission_rules AS item WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, rule text, "hasTimeConstraint" boolean)`;
const insert = statement<AdmissionRuleRow, [tenantId: string, at: Date, rows: string]>(
  "admission_rules.insert",
  `INSERT INTO admission_rules AS item (tenant_id, id, created_at, updated_at, name, type, rule, has_time_constraint)
   SELECT $1, id, $2, $2, name, 'CUSTOM', rule, "hasTimeConstraint" FROM ${given} RETURNING ${columns}`,
);
const update = statement<AdmissionRuleRow, [tenantId: string, at: Date, rows: string]>(
  "admission_rules.update",
  `UPDATE admission_rules AS item
   SET updated_at = $2, version = item.version + 1, name = given.name, rule = given.rule,
       has_time_constraint = given."hasTimeConstraint"
   FROM ${given} WHERE item.tenant_id = $1 AND item.id = given.id AND item.type = 'CUSTOM' RETURNING ${columns}`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "admission_rules.delete",
  "DELETE FROM admission_rules WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND type = 'CUSTOM'",
);
const selectTypes = statement<Pick<AdmissionRuleRow, "id" | "type">, [tenantId: string, ids: readonly string[]]>(
  "admission_rules.types",
  // FOR KEY SHARE prevents the deletion of the rules before the transaction that refers to them ends.
  "SELECT id, type FROM admission_rules WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) FOR KEY SHARE",
);
const selectAllow = statement<{ id: string }, [tenantId: string]>(
  "admission_rules.allow",
  "SELECT id FROM admission_rules WHERE tenant_id = $1 AND type = 'ALLOW'",
);

export function listAdmissionRules(tx: TenantTx, afterId: string, limit: number): Promise<AdmissionRuleRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export function readAllAdmissionRules(tx: TenantTx): Promise<RuleSettingsRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readAdmissionRule(tx: TenantTx, id: string): Promise<AdmissionRuleRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the rule. Nobody else can change it, or refer to it, before the transaction ends. */
export async function lockAdmissionRule(tx: TenantTx, id: string): Promise<AdmissionRuleRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/** @throws AppError name_taken */
export function insertAdmissionRules(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  rules: readonly StoredRule[],
  at: Date,
): Promise<AdmissionRuleRow[]> {
  return withConstraints(
    { admission_rules_name_unique: () => nameTaken("an admission rule", rules) },
    writeInChunks(rules, (rows) => tx.query(insert, tx.tenantId, at, rows)),
  );
}

/** @throws AppError name_taken */
export function updateAdmissionRules(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  rules: readonly StoredRule[],
  at: Date,
): Promise<AdmissionRuleRow[]> {
  return withConstraints(
    { admission_rules_name_unique: () => nameTaken("an admission rule", rules) },
    writeInChunks(rules, (rows) => tx.query(update, tx.tenantId, at, rows)),
  );
}

/** @throws AppError admission_rule_in_use */
export async function deleteAdmissionRules(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  ids: readonly string[],
): Promise<void> {
  const inUse = () => new AppError("admission_rule_in_use");
  await withConstraints({ policies_rule_fkey: inUse }, tx.query(remove, tx.tenantId, ids));
}

/** The types of the rules that exist, by id. These rules cannot be deleted before the transaction ends. */
export async function existingRuleTypes(
  tx: TenantTx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, AdmissionRule["type"]>> {
  if (ids.length === 0) return new Map();
  return new Map((await tx.query(selectTypes, tx.tenantId, ids)).map(({ id, type }) => [id, type]));
}

/** The id of the built-in rule ALLOW, the rule of a policy that names none. */
export async function allowRuleId(tx: TenantTx): Promise<string> {
  const [row] = await tx.query(selectAllow, tx.tenantId);
  if (row === undefined) throw new Error("the tenant has no built-in rule ALLOW");
  return row.id;
}
