import type { User, UserStatus } from "@gatehouse/contract/records/user";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { ListSource } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { listPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { deviceJson } from "../devices/devices.api.ts";
import { roleJson } from "../roles/roles.api.ts";
import { roleHeldBy } from "./user-roles.queries.ts";
import type { StatusState } from "./users.rules.ts";
import { policyUserJson, userGroupJson, type WholeUser } from "./users.view.ts";

/** The user's own columns, as far as commands decide by them. */
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

/** The columns of a `WholeUserRow`, of the row of `users` that the statement names `item`. */
export const wholeUser = `item.version, item.attributes, item.invitation_expires_at, ${policyUserJson("item")} AS "user",
  (SELECT json_agg(${roleJson("role")} ORDER BY role.id)
   FROM roles AS role WHERE role.tenant_id = item.tenant_id AND ${roleHeldBy("item")}) AS roles,
  (SELECT json_agg(${userGroupJson("member_of")} ORDER BY member_of.name_key, member_of.id)
   FROM group_members AS joined
   JOIN groups AS member_of ON member_of.tenant_id = joined.tenant_id AND member_of.id = joined.group_id
   WHERE joined.tenant_id = item.tenant_id AND joined.user_id = item.id) AS groups,
  (SELECT json_agg(${deviceJson("device")} ORDER BY device.id) FROM devices AS device
   WHERE device.tenant_id = item.tenant_id AND device.user_id = item.id) AS devices`;

const source: ListSource = {
  table: "users",
  select: wholeUser,
  columns: {
    id: { value: "item.id" },
    // Addresses are unique without regard to case, and so are found without regard to case.
    email: { value: "item.email_key", key: "item.email_key", lowerCase: true },
    firstName: { value: "item.first_name", key: "item.first_name_key" },
    lastName: { value: "item.last_name", key: "item.last_name_key" },
    createdAt: { value: "item.created_at" },
    lastConnection: { value: "item.last_connection" },
    status: { value: "item.status" },
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
const selectForChange = statement<UserRow, [tenantId: string, id: string]>(
  "users.lock",
  `SELECT ${columns} FROM users WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const insertMany = statement<
  { id: string },
  [
    tenantId: string,
    at: Date,
    invitationExpiresAt: Date,
    ids: readonly string[],
    emails: readonly string[],
    memberIds: readonly string[],
    groupIds: readonly string[],
  ]
>(
  "users.insert",
  // In order of address, so that two batches with the same addresses wait for each other instead of locking each other
  // out. A repeated address goes to the first that asked for it.
  `WITH made AS (
     INSERT INTO users (tenant_id, id, created_at, updated_at, email, status, invitation_expires_at)
     SELECT $1, invited.id, $2, $2, invited.email, 'pending', $3
     FROM unnest($4::uuid[], $5::text[]) WITH ORDINALITY AS invited (id, email, position)
     ORDER BY lower(invited.email) COLLATE "C", invited.position
     ON CONFLICT (tenant_id, email_key) DO NOTHING
     RETURNING tenant_id, id
   ), joined AS (
     INSERT INTO group_members (tenant_id, user_id, group_id)
     SELECT made.tenant_id, made.id, membership.group_id
     FROM made JOIN unnest($6::uuid[], $7::uuid[]) AS membership (user_id, group_id) ON membership.user_id = made.id
   )
   SELECT id FROM made`,
);
const update = statement<
  never,
  [
    tenantId: string,
    id: string,
    at: Date,
    firstName: string,
    lastName: string,
    image: string,
    maxDevices: number | null,
    attributes: string,
  ]
>(
  "users.update",
  `UPDATE users SET updated_at = $3, version = version + 1, first_name = $4, last_name = $5, image = $6,
                    max_devices = $7, attributes = $8
   WHERE tenant_id = $1 AND id = $2`,
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
const remove = statement<never, [tenantId: string, id: string]>(
  "users.delete",
  "DELETE FROM users WHERE tenant_id = $1 AND id = $2",
);

export function listUsers(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly rows: WholeUserRow[]; readonly total: number }> {
  return listPage(tx, source, query);
}

/** The users with these ids, those that there are, in the order of the ids. */
export async function readUsers(tx: TenantTx, ids: readonly string[]): Promise<WholeUserRow[]> {
  const rows = await tx.query(selectWhole, tx.tenantId, ids);
  const byId = new Map(rows.map((row) => [row.user.id, row]));
  return ids.flatMap((id) => byId.get(id.toLowerCase()) ?? []);
}

/** Reads the user and keeps others from changing it, or enrolling a device for it, until the transaction ends. */
export async function lockUser(tx: TenantTx, id: string): Promise<UserRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

export interface NewUser {
  readonly id: string;
  readonly email: string;
  /** At least one. */
  readonly groupIds: readonly string[];
}

/**
 * Makes pending users and puts them into their groups, as many as there are in one statement.
 *
 * @returns the ids of those who were made; the addresses of the others are taken
 */
export async function insertUsers(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  users: readonly NewUser[],
  at: Date,
  invitationExpiresAt: Date,
): Promise<ReadonlySet<string>> {
  const memberships = users.flatMap(({ id, groupIds }) => groupIds.map((groupId) => ({ id, groupId })));
  const made = await tx.query(
    insertMany,
    tx.tenantId,
    at,
    invitationExpiresAt,
    users.map(({ id }) => id),
    users.map(({ email }) => email),
    memberships.map(({ id }) => id),
    memberships.map(({ groupId }) => groupId),
  );
  return new Set(made.map(({ id }) => id));
}

/** Stores the user's profile, device limit and attributes. */
export async function updateUser(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  row: UserRow,
  at: Date,
): Promise<void> {
  const { id, first_name: firstName, last_name: lastName, image, max_devices: maxDevices, attributes } = row;
  await tx.query(update, tx.tenantId, id, at, firstName, lastName, image, maxDevices, JSON.stringify(attributes));
}

/** Enrolling a device changes the status of its user too, hence the second permission. */
export async function updateUserStatus(
  tx: TenantTx,
  _granted: Granted<"users:write"> | Granted<"devices:write">,
  id: string,
  state: StatusState,
  at: Date,
): Promise<void> {
  await tx.query(updateStatus, tx.tenantId, id, at, state.status, state.status_before);
}

/** Stores until when the user's invitation can be accepted. */
export async function storeInvitation(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  id: string,
  expiresAt: Date,
  at: Date,
): Promise<void> {
  await tx.query(updateInvitation, tx.tenantId, id, at, expiresAt);
}

/** Raises the version of a user whose roles or groups a command changed. */
export async function touchUser(
  tx: TenantTx,
  _granted: Granted<"users:write"> | Granted<"roles:write">,
  id: string,
  at: Date,
): Promise<void> {
  await tx.query(touch, tx.tenantId, id, at);
}

/** Deletes the user, with memberships, roles, and mentions in policies. The user's devices stay. */
export async function deleteUser(tx: TenantTx, _granted: Granted<"users:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
