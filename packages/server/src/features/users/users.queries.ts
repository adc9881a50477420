import type { RoleType } from "@gatehouse/contract/permissions";
import type { User, UserStatus } from "@gatehouse/contract/records/user";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import type { ListSource } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { listPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { deviceJson } from "../devices/devices.api.ts";
import { mailOf } from "../mail/mail.api.ts";
import { roleHeldBy, roleJson } from "../roles/roles.api.ts";
import { invitationLifetimeMs, type StatusState } from "./users.rules.ts";
import { policyUserJson, userGroupsText, type WholeUser } from "./users.view.ts";

/** A user as it is written. */
export interface StoredUser {
  readonly id: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  /** Undefined leaves the image unchanged. */
  readonly image?: string;
  readonly maxDevices: number | null;
  readonly attributes: User["attributes"];
  /** Undefined leaves the memberships unchanged. A new user needs at least one. */
  readonly groupIds?: readonly string[];
  /** Never the owner's role. Undefined leaves the roles unchanged. */
  readonly roleIds?: readonly string[];
}

/** The settings of a user, as configurations read them. */
export interface UserSettingsRow extends Omit<StoredUser, "image" | "groupIds" | "roleIds"> {
  readonly isOwner: boolean;
  /** Names. */
  readonly groups: readonly string[];
  /** Including the owner's role. */
  readonly roles: readonly RoleType[];
}

/** The columns of a user that commands need before they change it. */
export interface UserRow extends StatusState {
  readonly id: string;
  readonly version: number;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly image: string;
  readonly max_devices: number | null;
  readonly attributes: User["attributes"];
  readonly invitation_expires_at: string | null;
}

/** The user with everything that its record embeds. */
export interface WholeUserRow extends WholeUser {
  readonly version: number;
}

const columns =
  "id, version, email, status, status_before, first_name, last_name, image, max_devices, attributes, invitation_expires_at";

/** SQL for the columns of a `WholeUserRow`. The statement names its row of `users` `item`. */
export const wholeUser = `item.version, item.attributes, item.invitation_expires_at, ${policyUserJson("item")} AS "user",
  (SELECT json_agg(${roleJson("role")} ORDER BY role.id)
   FROM roles AS role WHERE role.tenant_id = item.tenant_id AND ${roleHeldBy("item")}) AS roles,
  ${userGroupsText(
    "member_of",
    `FROM group_members AS joined
   JOIN groups AS member_of ON member_of.tenant_id = joined.tenant_id AND member_of.id = joined.group_id
   WHERE joined.tenant_id = item.tenant_id AND joined.user_id = item.id`,
  )} AS groups,
  (SELECT json_agg(${deviceJson("device")} ORDER BY device.id) FROM devices AS device
   WHERE device.tenant_id = item.tenant_id AND device.user_id = item.id) AS devices,
  ${mailOf("user_id", "item.id")} AS mail`;

const source: ListSource = {
  table: "users",
  select: wholeUser,
  columns: {
    id: { value: "item.id" },
    // Addresses are unique regardless of letter case, so they are found regardless of letter case.
    email: { value: "item.email_key", key: "item.email_key", lowerCase: true },
    firstName: { value: "item.first_name", key: "item.first_name_key", nullable: true },
    lastName: { value: "item.last_name", key: "item.last_name_key", nullable: true },
    createdAt: { value: "item.created_at" },
    lastConnection: { value: "item.last_connection", nullable: true },
    status: { value: "item.status" },
    inactiveSince: { value: "coalesce(item.last_connection, item.created_at)" },
    hasConnected: { value: "(item.last_connection IS NOT NULL)" },
    isNamedByPolicy: {
      value: `(EXISTS (SELECT FROM policies AS policy
                       WHERE policy.tenant_id = item.tenant_id AND NOT policy.is_default
                         AND (policy.all_users OR policy.all_groups))
        OR EXISTS (SELECT FROM policy_users AS named WHERE named.tenant_id = item.tenant_id AND named.user_id = item.id)
        OR EXISTS (SELECT FROM group_members AS joined
                   JOIN policy_groups AS named ON named.tenant_id = joined.tenant_id AND named.group_id = joined.group_id
                   WHERE joined.tenant_id = item.tenant_id AND joined.user_id = item.id))`,
    },
    "groups.id": {
      value: "joined.group_id",
      within: (predicate) =>
        `EXISTS (SELECT FROM group_members AS joined
                 WHERE joined.tenant_id = item.tenant_id AND joined.user_id = item.id AND ${predicate})`,
    },
    "roles.type": {
      value: "role.type",
      within: (predicate) =>
        `EXISTS (SELECT FROM roles AS role
                 WHERE role.tenant_id = item.tenant_id AND ${predicate} AND ${roleHeldBy("item")})`,
    },
  },
};

const selectWhole = statement<WholeUserRow, [tenantId: string, ids: readonly string[]]>(
  "users.read",
  `SELECT ${wholeUser} FROM users AS item WHERE item.tenant_id = $1 AND item.id = ANY ($2::uuid[])`,
);
const selectExisting = statement<{ readonly id: string }, [tenantId: string, ids: readonly string[]]>(
  "users.ids_that_exist",
  "SELECT id FROM users WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);
// A statement of its own: PostgreSQL plans a list of ids for about ten users, and finds the parts of each accordingly.
const selectOne = statement<WholeUserRow, [tenantId: string, id: string]>(
  "users.read_one",
  `SELECT ${wholeUser} FROM users AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectForChange = statement<UserRow, [tenantId: string, id: string]>(
  "users.lock",
  `SELECT ${columns} FROM users WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
// One index lookup for each record and each of its names. As joins, PostgreSQL would choose nested loops over whole
// tables when it underestimates them: a tenant that was just filled is not in its statistics.
const selectAll = statement<UserSettingsRow, [tenantId: string]>(
  "users.read_all",
  `SELECT item.id, item.email, item.first_name AS "firstName", item.last_name AS "lastName", item.is_owner AS "isOwner",
          item.max_devices AS "maxDevices", item.attributes,
          coalesce((
            SELECT json_agg((SELECT name FROM groups WHERE tenant_id = $1 AND id = joined.group_id))
            FROM group_members AS joined WHERE joined.tenant_id = item.tenant_id AND joined.user_id = item.id
          ), '[]') AS groups,
          coalesce((
            SELECT json_agg((SELECT type FROM roles WHERE tenant_id = $1 AND id = held.role_id))
            FROM user_roles AS held WHERE held.tenant_id = item.tenant_id AND held.user_id = item.id
          ), '[]') AS roles
   FROM users AS item
   WHERE item.tenant_id = $1`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, email text, "firstName" text, "lastName" text, image text,
  "maxDevices" integer, attributes jsonb, "groupIds" uuid[], "roleIds" uuid[])`;
const insert = statement<{ id: string }, [tenantId: string, at: Date, rows: string, invitationExpiresAt: Date]>(
  "users.insert",
  // Ordered by address, so that two batches with the same addresses wait for each other instead of deadlocking. A
  // repeated address goes to the row with the lowest id.
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), inserted AS (
     INSERT INTO users (tenant_id, id, created_at, updated_at, email, status, first_name, last_name, max_devices,
                        attributes, invitation_expires_at)
     SELECT $1, id, $2, $2, email, 'pending', "firstName", "lastName", "maxDevices", attributes, $4
     FROM given ORDER BY lower(email) COLLATE "C", id
     ON CONFLICT (tenant_id, email_key) DO NOTHING
     RETURNING id
   ), joined AS (
     INSERT INTO group_members (tenant_id, user_id, group_id)
     SELECT $1, given.id, member_of.id
     FROM inserted JOIN given ON given.id = inserted.id, unnest(given."groupIds") AS member_of (id)
   ), held AS (
     INSERT INTO user_roles (tenant_id, user_id, role_id)
     SELECT $1, given.id, role.id
     FROM inserted JOIN given ON given.id = inserted.id, unnest(given."roleIds") AS role (id)
   )
   SELECT id FROM inserted`,
);
const update = statement<never, [tenantId: string, at: Date, rows: string]>(
  "users.update",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), updated AS (
     UPDATE users AS item
     SET updated_at = $2, version = item.version + 1, first_name = given."firstName", last_name = given."lastName",
         image = coalesce(given.image, item.image), max_devices = given."maxDevices", attributes = given.attributes
     FROM given WHERE item.tenant_id = $1 AND item.id = given.id
   ), wanted_groups AS (
     SELECT given.id AS user_id, member_of.id AS group_id FROM given, unnest(given."groupIds") AS member_of (id)
   ), left_groups AS (
     DELETE FROM group_members AS joined USING given
     WHERE joined.tenant_id = $1 AND joined.user_id = given.id AND given."groupIds" IS NOT NULL AND NOT EXISTS (
       SELECT FROM wanted_groups AS wanted WHERE wanted.user_id = joined.user_id AND wanted.group_id = joined.group_id
     )
   ), joined_groups AS (
     INSERT INTO group_members (tenant_id, user_id, group_id) SELECT $1, user_id, group_id FROM wanted_groups
     ON CONFLICT DO NOTHING
   ), lost_roles AS (
     DELETE FROM user_roles AS held USING given, roles AS role
     WHERE held.tenant_id = $1 AND held.user_id = given.id AND role.tenant_id = $1 AND role.id = held.role_id
       AND role.type <> 'OWNER' AND held.role_id <> ALL (given."roleIds")
   )
   INSERT INTO user_roles (tenant_id, user_id, role_id)
   SELECT $1, given.id, role.id FROM given, unnest(given."roleIds") AS role (id)
   ON CONFLICT DO NOTHING`,
);
const acceptAll = statement<never, [tenantId: string, ids: readonly string[]]>(
  "users.accept_all",
  "UPDATE users SET status = 'active' WHERE tenant_id = $1 AND id = ANY($2::uuid[]) AND status = 'pending'",
);

const updateStatus = statement<
  never,
  [tenantId: string, id: string, at: Date, status: UserStatus, before: StatusState["status_before"]]
>(
  "users.update_status",
  `UPDATE users SET updated_at = $3, version = version + 1, status = $4, status_before = $5
   WHERE tenant_id = $1 AND id = $2`,
);
const updateInvitation = statement<never, [tenantId: string, id: string, at: Date, expiresAt: Date]>(
  "users.update_invitation",
  `UPDATE users SET updated_at = $3, version = version + 1, invitation_expires_at = $4
   WHERE tenant_id = $1 AND id = $2`,
);
const touch = statement<never, [tenantId: string, id: string, at: Date]>(
  "users.touch",
  "UPDATE users SET updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND id = $2",
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "users.delete",
  "DELETE FROM users WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

export function listUsers(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly rows: WholeUserRow[]; readonly total: number }> {
  return listPage(tx, source, query);
}

export function readAllUsers(tx: TenantTx): Promise<UserSettingsRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readUser(tx: TenantTx, id: string): Promise<WholeUserRow | undefined> {
  const [row] = await tx.query(selectOne, tx.tenantId, id);
  return row;
}

/** The users that exist, in the order of the ids. */
async function readUsers(tx: TenantTx, ids: readonly string[]): Promise<WholeUserRow[]> {
  const [only] = ids;
  if (only !== undefined && ids.length === 1) return tx.query(selectOne, tx.tenantId, only);
  const rows = await tx.query(selectWhole, tx.tenantId, ids);
  const byId = new Map(rows.map((row) => [row.user.id, row]));
  return ids.flatMap((id) => byId.get(id.toLowerCase()) ?? []);
}

/**
 * The users that this transaction has just inserted, in order. Users with the same groups, roles and attributes differ
 * only in their ids, addresses and names, so one of them is read for all.
 */
export async function readNewUsers(tx: TenantTx, users: readonly StoredUser[]): Promise<WholeUserRow[]> {
  const idsByKind = new Map<string, string>();
  const representatives = users.map(({ id, groupIds = [], roleIds = [], attributes }) => {
    const kind = JSON.stringify([[...groupIds].sort(), [...roleIds].sort(), attributes]);
    const representative = idsByKind.get(kind) ?? id;
    idsByKind.set(kind, representative);
    return representative;
  });
  const rows = await readUsers(tx, [...idsByKind.values()]);
  const byId = new Map(rows.map((row) => [row.user.id, row]));
  return users.flatMap(({ id, email, firstName, lastName }, index) => {
    const row = byId.get(representatives[index] ?? id);
    const own = { id, email, first_name: firstName, last_name: lastName };
    return row === undefined ? [] : [{ ...row, user: { ...row.user, ...own } }];
  });
}

/** Returns those ids whose users exist. */
export async function existingUsers(tx: TenantTx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await tx.query(selectExisting, tx.tenantId, ids)).map(({ id }) => id));
}

/** Reads the user. Nobody else can change it, or enrol a device for it, before the transaction ends. */
export async function lockUser(tx: TenantTx, id: string): Promise<UserRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/**
 * Inserts pending users with their memberships and roles.
 *
 * @returns the ids of the users that were inserted; the addresses of the others are taken
 */
export async function insertUsers(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  users: readonly StoredUser[],
  at: Date,
): Promise<ReadonlySet<string>> {
  const expiry = new Date(at.getTime() + invitationLifetimeMs);
  const inserted = await writeInChunks(users, (rows) => tx.query(insert, tx.tenantId, at, rows, expiry));
  return new Set(inserted.map(({ id }) => id));
}

/** Updates users, except for their addresses and statuses. The owner keeps the owner's role. */
export async function updateUsers(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  users: readonly StoredUser[],
  at: Date,
): Promise<void> {
  await writeInChunks(users, (rows) => tx.query(update, tx.tenantId, at, rows));
}

/** Updates the status. Because enrolling a device also changes the user's status, either permission is a proof. */
export async function updateUserStatus(
  tx: TenantTx,
  _granted: Granted<"users:write"> | Granted<"devices:write">,
  id: string,
  state: StatusState,
  at: Date,
): Promise<void> {
  await tx.query(updateStatus, tx.tenantId, id, at, state.status, state.status_before);
}

/** Activates pending users in a dry run. A command also records the change of each user. */
export async function acceptInvitations(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(acceptAll, tx.tenantId, ids);
}

/** Stores when the user's invitation expires. */
export async function storeInvitation(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  id: string,
  expiresAt: Date,
  at: Date,
): Promise<void> {
  await tx.query(updateInvitation, tx.tenantId, id, at, expiresAt);
}

/** Increments the version of a user whose roles or groups a command changed. */
export async function touchUser(
  tx: TenantTx,
  _granted: Granted<"users:write"> | Granted<"roles:write">,
  id: string,
  at: Date,
): Promise<void> {
  await tx.query(touch, tx.tenantId, id, at);
}

/** Deletes users with their memberships, their roles, and their entries in policies. Their devices stay. */
export async function deleteUsers(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}

const selectDeviceLimit = statement<{ limit: number | null }, [tenantId: string, id: string]>(
  "users.device_limit",
  `SELECT max_devices AS "limit" FROM users WHERE tenant_id = $1 AND id = $2`,
);

/** The user's own device limit; null if the groups determine the limit. */
export async function readDeviceLimitOfUser(tx: TenantTx, id: string): Promise<number | null> {
  return (await tx.query(selectDeviceLimit, tx.tenantId, id))[0]?.limit ?? null;
}
