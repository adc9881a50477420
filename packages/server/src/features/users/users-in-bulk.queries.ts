/** All users of a tenant, and many at once: for configurations, which are read and written as a whole. */
import type { RoleType } from "@gatehouse/contract/permissions";
import type { User } from "@gatehouse/contract/records/user";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { invitationLifetimeMs } from "./users.rules.ts";

interface BulkUserSettings {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly maxDevices: number | null;
  readonly attributes: User["attributes"];
}

export interface BulkUserRow extends BulkUserSettings {
  readonly isOwner: boolean;
  /** Names. */
  readonly groups: readonly string[];
  /** The owner's own role among them. */
  readonly roles: readonly RoleType[];
}

export interface BulkUser extends BulkUserSettings {
  /** At least one. */
  readonly groupIds: readonly string[];
  /** Never the owner's; that is kept where it is. */
  readonly roles: readonly RoleType[];
}

// One look into an index for each record and each name it has. Joined as a whole, they would be compared each with each
// where PostgreSQL takes them for few: a tenant that was filled a moment ago is not in its statistics.
const selectAll = statement<BulkUserRow, [tenantId: string]>(
  "users.read_all",
  `SELECT item.id, item.email, item.first_name AS "firstName", item.last_name AS "lastName", item.is_owner AS "isOwner",
          item.max_devices AS "maxDevices", item.attributes,
          coalesce((
            SELECT json_agg((SELECT name FROM groups WHERE tenant_id = $1 AND id = joined.group_id))
            FROM group_members AS joined WHERE joined.tenant_id = $1 AND joined.user_id = item.id
          ), '[]') AS groups,
          coalesce((
            SELECT json_agg((SELECT type FROM roles WHERE tenant_id = $1 AND id = held.role_id))
            FROM user_roles AS held WHERE held.tenant_id = $1 AND held.user_id = item.id
          ), '[]') AS roles
   FROM users AS item
   WHERE item.tenant_id = $1`,
);

const given = `json_to_recordset($3::json) AS given (id uuid, email text, "firstName" text, "lastName" text,
  "maxDevices" integer, attributes jsonb, "groupIds" uuid[], roles text[])`;

const insertMany = statement<never, [tenantId: string, at: Date, rows: string, invitationExpiresAt: Date]>(
  "users.insert_many",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), made AS (
     INSERT INTO users (tenant_id, id, created_at, updated_at, email, status, first_name, last_name, max_devices,
                        attributes, invitation_expires_at)
     SELECT $1, id, $2, $2, email, 'pending', "firstName", "lastName", "maxDevices", attributes, $4 FROM given
   ), joined AS (
     INSERT INTO group_members (tenant_id, user_id, group_id)
     SELECT $1, given.id, member_of.id FROM given, unnest(given."groupIds") AS member_of (id)
   )
   INSERT INTO user_roles (tenant_id, user_id, role_id)
   SELECT $1, given.id, role.id FROM given JOIN roles AS role ON role.tenant_id = $1 AND role.type = ANY (given.roles)`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "users.update_many",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), changed AS (
     UPDATE users SET updated_at = $2, version = version + 1, first_name = given."firstName",
                      last_name = given."lastName", max_devices = given."maxDevices", attributes = given.attributes
     FROM given WHERE users.tenant_id = $1 AND users.id = given.id
   ), wanted_groups AS (
     SELECT given.id AS user_id, member_of.id AS group_id FROM given, unnest(given."groupIds") AS member_of (id)
   ), left_groups AS (
     DELETE FROM group_members AS joined USING given
     WHERE joined.tenant_id = $1 AND joined.user_id = given.id AND NOT EXISTS (
       SELECT FROM wanted_groups AS wanted WHERE wanted.user_id = joined.user_id AND wanted.group_id = joined.group_id
     )
   ), joined_groups AS (
     INSERT INTO group_members (tenant_id, user_id, group_id) SELECT $1, user_id, group_id FROM wanted_groups
     ON CONFLICT DO NOTHING
   ), wanted_roles AS (
     SELECT given.id AS user_id, role.id AS role_id
     FROM given JOIN roles AS role ON role.tenant_id = $1 AND role.type = ANY (given.roles)
   ), lost_roles AS (
     DELETE FROM user_roles AS held USING given, roles AS role
     WHERE held.tenant_id = $1 AND held.user_id = given.id AND role.tenant_id = $1 AND role.id = held.role_id
       AND role.type <> 'OWNER' AND NOT EXISTS (
         SELECT FROM wanted_roles AS wanted WHERE wanted.user_id = held.user_id AND wanted.role_id = held.role_id
       )
   )
   INSERT INTO user_roles (tenant_id, user_id, role_id) SELECT $1, user_id, role_id FROM wanted_roles
   ON CONFLICT DO NOTHING`,
);
const deleteMany = statement<never, [tenantId: string, ids: readonly string[]]>(
  "users.delete_many",
  "DELETE FROM users WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

export function readAllUsers(tx: TenantTx): Promise<BulkUserRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

/** Invites them. Their addresses must be free. */
export function insertUsersInBulk(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  users: readonly BulkUser[],
  at: Date,
): Promise<void> {
  const expiry = new Date(at.getTime() + invitationLifetimeMs);
  return writeInChunks(users, (rows) => tx.query(insertMany, tx.tenantId, at, rows, expiry));
}

/** Everything but address, image and status. */
export function updateUsersInBulk(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  users: readonly BulkUser[],
  at: Date,
): Promise<void> {
  return writeInChunks(users, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** With memberships, roles, and mentions in policies; their devices stay. */
export async function deleteUsersInBulk(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(deleteMany, tx.tenantId, ids);
}
