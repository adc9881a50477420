import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

const insertBuiltIn = statement<never, [tenantId: string, at: Date, allowId: string, denyId: string]>(
  "admission_rules.insert_built_in",
  `INSERT INTO admission_rules (tenant_id, id, created_at, updated_at, name, type) VALUES
     ($1, $3, $2, $2, 'Admission without restrictions', 'ALLOW'),
     ($1, $4, $2, $2, 'No admission', 'DENY')`,
);

/**
 * Inserts the two built-in rules: ALLOW, which is always met, and DENY, which is never met. Returns the id of ALLOW.
 */
export async function createBuiltInRules(
  tx: TenantTx,
  _granted: Granted<"admission-rules:write">,
  at: Date,
): Promise<string> {
  const allowId = newId();
  await tx.query(insertBuiltIn, tx.tenantId, at, allowId, newId());
  return allowId;
}
