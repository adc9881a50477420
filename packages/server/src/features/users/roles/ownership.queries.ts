/** The one user who owns the tenant. */
import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

const lockRole = statement<{ id: string }, [tenantId: string]>(
  "users.lock_owner_role",
  "SELECT id FROM roles WHERE tenant_id = $1 AND type = 'OWNER' FOR NO KEY UPDATE",
);
const lockConcerned = statement<{ id: string; is_owner: boolean }, [tenantId: string, id: string]>(
  "users.lock_owner_and_next",
  "SELECT id, is_owner FROM users WHERE tenant_id = $1 AND (is_owner OR id = $2) ORDER BY id FOR UPDATE",
);
const take = statement<never, [tenantId: string, id: string, at: Date, roleId: string]>(
  "users.take_ownership",
  `WITH former AS (
     UPDATE users SET is_owner = false, updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND id = $2
   )
   DELETE FROM user_roles WHERE tenant_id = $1 AND user_id = $2 AND role_id = $4`,
);
const give = statement<never, [tenantId: string, id: string, at: Date, roleId: string]>(
  "users.give_ownership",
  `WITH next AS (
     UPDATE users SET is_owner = true, updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND id = $2
   )
   INSERT INTO user_roles (tenant_id, user_id, role_id) VALUES ($1, $2, $4) ON CONFLICT DO NOTHING`,
);

/**
 * Makes transfers of the tenant's ownership wait for each other: without that, two could lock the owner and each other's
 * next one in a circle.
 *
 * @returns the id of the owner's role
 */
export async function lockOwnership(tx: TenantTx): Promise<string> {
  const [role] = await tx.query(lockRole, tx.tenantId);
  if (role === undefined) throw new Error(`the tenant ${tx.tenantId} has no role for its owner`);
  return role.id;
}

/**
 * Locks the owner and the user who is to be the next one, in order of id.
 *
 * @returns the owner's id; undefined for a tenant whose owner was deleted
 */
export async function lockOwnerAnd(tx: TenantTx, id: string): Promise<string | undefined> {
  return (await tx.query(lockConcerned, tx.tenantId, id)).find((user) => user.is_owner)?.id;
}

/** Takes ownership and the owner's role off a user. */
export async function takeOwnership(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  id: string,
  roleId: string,
  at: Date,
): Promise<void> {
  await tx.query(take, tx.tenantId, id, at, roleId);
}

/** Makes a user the owner, with the owner's role; nobody else may be it. */
export async function giveOwnership(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  id: string,
  roleId: string,
  at: Date,
): Promise<void> {
  await tx.query(give, tx.tenantId, id, at, roleId);
}
