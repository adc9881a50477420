import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { noTokens } from "../gateways/gateways.api.ts";
import { readPolicy } from "./policies.queries.ts";
import { policyView } from "./policies.view.ts";

const insertDefault = statement<never, [tenantId: string, id: string, at: Date, ruleId: string]>(
  "policies.insert_default",
  `INSERT INTO policies (tenant_id, id, created_at, updated_at, name, type, "order", is_default, action, mode,
                         all_groups, all_users, all_devices, all_resources, rule_id, description)
   VALUES ($1, $2, $3, $3, 'Default internet policy', 'INTERNET', 1, true, true, 'LOCAL',
           true, true, true, true, $4, 'What happens to internet traffic that no other policy decides.')`,
);

/**
 * Inserts the tenant's default internet policy, and records it.
 *
 * @param ruleId the built-in rule ALLOW
 */
export async function createDefaultPolicy(
  tx: CommandTx,
  _granted: Granted<"policies:write">,
  at: Date,
  ruleId: string,
): Promise<void> {
  const id = newId();
  await tx.query(insertDefault, tx.tenantId, id, at, ruleId);
  const row = await readPolicy(tx, id, false);
  if (row !== undefined) tx.record({ type: "policy", id, name: row.name, after: policyView(row, noTokens, at) });
}
