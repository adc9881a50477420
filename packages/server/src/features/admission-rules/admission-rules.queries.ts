import type { AdmissionRule } from "@gatehouse/contract/records/admission-rule";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
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

const columns = "id, created_at, updated_at, version, name, type, has_time_constraint, rule";

const selectMany = statement<AdmissionRuleRow, [tenantId: string, afterId: string, limit: number]>(
  "admission_rules.list",
  `SELECT ${columns} FROM admission_rules WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
);
const selectOne = statement<AdmissionRuleRow, [tenantId: string, id: string]>(
  "admission_rules.read",
  `SELECT ${columns} FROM admission_rules WHERE tenant_id = $1 AND id = $2`,
);
const selectForChange = statement<AdmissionRuleRow, [tenantId: string, id: string]>(
  "admission_rules.lock",
  `SELECT ${columns} FROM admission_rules WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const insert = statement<
  AdmissionRuleRow,
  [tenantId: string, id: string, at: Date, name: string, rule: string, hasTimeConstraint: boolean]
>(
  "admission_rules.insert",
  `INSERT INTO admission_rules (tenant_id, id, created_at, updated_at, name, type, rule, has_time_constraint)
   VALUES ($1, $2, $3, $3, $4, 'CUSTOM', $5, $6) RETURNING ${columns}`,
);
const update = statement<
  AdmissionRuleRow,
  [tenantId: string, id: string, at: Date, name: string, rule: string, hasTimeConstraint: boolean]
>(
  "admission_rules.update",
  `UPDATE admission_rules
   SET updated_at = $3, version = version + 1, name = $4, rule = $5, has_time_constraint = $6
   WHERE tenant_id = $1 AND id = $2 RETURNING ${columns}`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "admission_rules.delete",
  "DELETE FROM admission_rules WHERE tenant_id = $1 AND id = $2",
);
const selectTypes = statement<Pick<AdmissionRuleRow, "id" | "type">, [tenantId: string, ids: readonly string[]]>(
  "admission_rules.types",
  // FOR KEY SHARE keeps the rules from being deleted before the transaction that refers to them ends.
  "SELECT id, type FROM admission_rules WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) FOR KEY SHARE",
);
const selectAllow = statement<{ id: string }, [tenantId: string]>(
  "admission_rules.allow",
  "SELECT id FROM admission_rules WHERE tenant_id = $1 AND type = 'ALLOW'",
);

export function listAdmissionRules(tx: TenantTx, afterId: string, limit: number): Promise<AdmissionRuleRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export async function readAdmissionRule(tx: TenantTx, id: string): Promise<AdmissionRuleRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the rule and keeps others from changing it, or giving it to a policy, until the transaction ends. */
export async function lockAdmissionRule(tx: TenantTx, id: string): Promise<AdmissionRuleRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/** What an administrator sets of a rule. */
export interface AdmissionRuleSettings extends RuleContent {
  readonly name: string;
}

/** @throws AppError name_taken */
export async function insertAdmissionRule(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  id: string,
  settings: AdmissionRuleSettings,
  at: Date,
): Promise<AdmissionRuleRow> {
  return write(tx, insert, id, settings, at);
}

/** @throws AppError name_taken */
export async function updateAdmissionRule(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  id: string,
  settings: AdmissionRuleSettings,
  at: Date,
): Promise<AdmissionRuleRow> {
  return write(tx, update, id, settings, at);
}

async function write(
  tx: TenantTx,
  writing: typeof insert,
  id: string,
  { name, rule, hasTimeConstraint }: AdmissionRuleSettings,
  at: Date,
): Promise<AdmissionRuleRow> {
  const nameTaken = () =>
    new AppError("name_taken", {
      detail: `An admission rule is already called ${JSON.stringify(name)}.`,
      errors: [{ pointer: "/name", message: "is taken" }],
    });
  const rows = await withConstraints(
    { admission_rules_name_unique: nameTaken },
    tx.query(writing, tx.tenantId, id, at, name, rule, hasTimeConstraint),
  );
  return rows[0] as AdmissionRuleRow; // a row that was inserted, or locked before, is returned
}

/** @throws AppError admission_rule_in_use */
export async function deleteAdmissionRule(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  id: string,
): Promise<void> {
  const inUse = () => new AppError("admission_rule_in_use");
  await withConstraints({ policies_rule_fkey: inUse }, tx.query(remove, tx.tenantId, id));
}

/** The types of the rules that exist, by id. These rules cannot be deleted before the transaction ends. */
export async function existingRuleTypes(
  tx: TenantTx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, AdmissionRule["type"]>> {
  if (ids.length === 0) return new Map();
  return new Map((await tx.query(selectTypes, tx.tenantId, ids)).map(({ id, type }) => [id, type]));
}

/** The id of the built-in rule ALLOW, which a policy has that names none. */
export async function allowRuleId(tx: TenantTx): Promise<string> {
  const [row] = await tx.query(selectAllow, tx.tenantId);
  if (row === undefined) throw new Error("the tenant has no built-in rule ALLOW");
  return row.id;
}
