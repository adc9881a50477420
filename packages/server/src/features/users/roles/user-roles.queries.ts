/** The roles of users: direct ones, and inherited ones from groups. */
import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { giversOf, heldDirectly, type RoleJson, roleHeldBy, roleJson } from "../../roles/roles.api.ts";

/** A role of a user, and its sources. */
export interface HeldRole {
  readonly role: RoleJson;
  readonly direct: boolean;
  /** Names of the user's groups with the role, or null. */
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

/** All roles of the user, each once, ordered by id. */
export function rolesHeldBy(tx: TenantTx, userId: string): Promise<HeldRole[]> {
  return tx.query(selectHeld, tx.tenantId, userId);
}

/** Grants roles to the user. Roles that the user already holds directly do not change. */
export async function addRoles(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  userId: string,
  roleIds: readonly string[],
): Promise<void> {
  if (roleIds.length > 0) await tx.query(insertMany, tx.tenantId, userId, roleIds);
}

/** Removes direct roles from the user. */
export async function removeRoles(
  tx: TenantTx,
  _granted: Granted<"users:write"> | Granted<"roles:write">,
  userId: string,
  roleIds: readonly string[],
): Promise<void> {
  if (roleIds.length > 0) await tx.query(deleteMany, tx.tenantId, userId, roleIds);
}
