import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { type WholeUserRow, wholeUser } from "../users.queries.ts";

const selectHolders = statement<
  WholeUserRow,
  [tenantId: string, roleId: string, throughGroups: boolean, afterId: string, limit: number]
>(
  "users.holding_role",
  `SELECT ${wholeUser} FROM (
     SELECT users.* FROM users
     WHERE users.tenant_id = $1 AND users.id > $4 AND users.id IN (
       SELECT user_id FROM user_roles WHERE tenant_id = $1 AND role_id = $2
       UNION ALL
       SELECT joined.user_id
       FROM group_roles AS given
       JOIN group_members AS joined ON joined.tenant_id = given.tenant_id AND joined.group_id = given.group_id
       WHERE $3 AND given.tenant_id = $1 AND given.role_id = $2
     )
     ORDER BY users.id LIMIT $5
   ) AS item ORDER BY item.id`,
);

/** Users who hold a role directly, and with `throughGroups` also those who inherit it; in order of id. */
export function usersHolding(
  tx: TenantTx,
  roleId: string,
  throughGroups: boolean,
  afterId: string,
  limit: number,
): Promise<WholeUserRow[]> {
  return tx.query(selectHolders, tx.tenantId, roleId, throughGroups, afterId, limit);
}
