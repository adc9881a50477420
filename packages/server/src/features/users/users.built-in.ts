import type { Granted } from "../../platform/authorization/granted.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { readUser } from "./users.queries.ts";
import { userView } from "./users.view.ts";

const insertOwner = statement<
  never,
  [tenantId: string, id: string, at: Date, email: string, groupId: string, roleId: string]
>(
  "users.insert_owner",
  `WITH made AS (
     INSERT INTO users (tenant_id, id, created_at, updated_at, email, status, is_owner)
     VALUES ($1, $2, $3, $3, $4, 'active', true)
     RETURNING tenant_id, id
   ), joined AS (
     INSERT INTO group_members (tenant_id, user_id, group_id) SELECT tenant_id, id, $5 FROM made
   )
   INSERT INTO user_roles (tenant_id, user_id, role_id) SELECT tenant_id, id, $6 FROM made`,
);

/** Inserts the owner of a new tenant, and records it. Returns the owner. */
export async function createOwner(
  tx: CommandTx,
  _granted: Granted<"users:write">,
  at: Date,
  owner: { readonly email: string; readonly groupId: string; readonly roleId: string },
): Promise<{ readonly id: string; readonly email: string }> {
  const id = newId();
  await tx.query(insertOwner, tx.tenantId, id, at, owner.email, owner.groupId, owner.roleId);
  const row = await readUser(tx, id);
  if (row !== undefined) tx.record({ type: "user", id, name: owner.email, after: userView(row, at) });
  return { id, email: owner.email };
}
