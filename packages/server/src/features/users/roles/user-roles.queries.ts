/** Which roles users hold: directly, or through their groups. */
import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { type RoleJson, roleJson } from "../../roles/roles.api.ts";

const heldDirectly = (user: string) =>
  `EXISTS (SELECT FROM user_roles AS given
           WHERE given.tenant_id = ${user}.tenant_id AND given.user_id = ${user}.id AND given.role_id = role.id)`;

/** The groups that give a user a role: FROM and WHERE of a query, in which the group's row is `giver`. */
const giversOf = (user: string) =>
  `FROM group_members AS joined
   JOIN group_roles AS given ON given.tenant_id = joined.tenant_id AND given.group_id = joined.group_id
   JOIN groups AS giver ON giver.tenant_id = joined.tenant_id AND giver.id = joined.group_id
   WHERE joined.tenant_id = ${user}.tenant_id AND joined.user_id = ${user}.id AND given.role_id = role.id`;

/**
 * SQL for the condition that a user holds a role, directly or through a group. The row of `roles` is named `role`.
 *
 * @param user the name of the row of `users`
 */
export function roleHeldBy(user: string): string {
  return `(${heldDirectly(user)} OR EXISTS (SELECT ${giversOf(user)}))`;
}

/** A role that a user holds, and where from. */
export interface HeldRole {
  readonly role: RoleJson;
  readonly direct: boolean;
  /** Names of the user's groups that give it; null where none does. */
  readonly groups: string[] | null;
}

const selectHeld = statement<HeldRole, [tenantId: string, userId: string]>(
  "users.held_roles",
  `SELECT ${roleJson("role")} AS role, ${heldDirectly("item")} AS direct,
     (SELECT json_agg(giver.name ORDER BY giver.name_key, giver.id) ${giversOf("item")}) AS groups
   FROM users AS item JOIN roles AS role ON role.tenant_id = item.tenant_id
   WHERE item.tenant_id = $1 AND item.id = $2 AND ${roleHeldBy("item")} ORDER BY role.id`,
);
const insertMany = statement<never, [tenantId: string, userId: string, roleIds: readonly string[]]>(
  "users.add_roles",
  `INSERT INTO user_roles (tenant_id, user_id, role_id) SELECT $1, $2, role_id FROM unnest($3::uuid[]) AS given (role_id)
   ON CONFLICT DO NOTHING`,
);
const deleteMany = statement<never, [tenantId: string, userId: string, roleIds: readonly string[]]>(
  "users.remove_roles",
  "DELETE FROM user_roles WHERE tenant_id = $1 AND user_id = $2 AND role_id = ANY ($3::uuid[])",
);

/** Every role that the user holds, each once, in order of id. */
export function rolesHeldBy(tx: TenantTx, userId: string): Promise<HeldRole[]> {
  return tx.query(selectHeld, tx.tenantId, userId);
}

/** Gives the user roles; those that the user holds directly stay. */
export async function addRoles(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  userId: string,
  roleIds: readonly string[],
): Promise<void> {
  if (roleIds.length > 0) await tx.query(insertMany, tx.tenantId, userId, roleIds);
}

/** Takes roles off the user. */
export async function removeRoles(
  tx: TenantTx,
  _granted: Granted<"users:write"> | Granted<"roles:write">,
  userId: string,
  roleIds: readonly string[],
): Promise<void> {
  if (roleIds.length > 0) await tx.query(deleteMany, tx.tenantId, userId, roleIds);
}
