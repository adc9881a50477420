import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { readGroup } from "./groups.queries.ts";
import { auditedGroup } from "./groups.view.ts";

const insertDefault = statement<never, [tenantId: string, id: string, at: Date, roleId: string]>(
  "groups.insert_default",
  `WITH made AS (
     INSERT INTO groups (tenant_id, id, created_at, updated_at, name, description, is_default, is_saml_default_group)
     VALUES ($1, $2, $3, $3, 'Default', 'Users who are not in any other group.', true, true)
     RETURNING tenant_id, id
   )
   INSERT INTO group_roles (tenant_id, group_id, role_id) SELECT tenant_id, id, $4 FROM made`,
);

/**
 * Inserts the tenant's default group, which is also the first SAML default group, and records it.
 *
 * @param roleId the role that members inherit
 * @returns the id of the group
 */
export async function createDefaultGroup(
  tx: CommandTx,
  _granted: Granted<"groups:write">,
  at: Date,
  roleId: string,
): Promise<string> {
  const id = newId();
  await tx.query(insertDefault, tx.tenantId, id, at, roleId);
  const row = await readGroup(tx, id);
  if (row !== undefined) tx.record({ type: "group", id, name: row.group.name, after: auditedGroup(row) });
  return id;
}
