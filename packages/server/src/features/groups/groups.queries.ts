import type { RoleType } from "@gatehouse/contract/permissions";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import type { ListSource } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import { listPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { roleJson } from "../roles/roles.api.ts";
import { groupMembersText, policyGroupJson, type WholeGroup } from "./groups.view.ts";

export interface GroupRow extends WholeGroup {
  readonly version: number;
}

/** A group as it is written. */
export interface StoredGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly maxDevices: number;
  /** Seconds. Null if the group does not limit the sessions of its members' devices. */
  readonly deviceSessionLifetime: number | null;
  readonly isSamlDefaultGroup: boolean;
  readonly idpMapping: readonly string[];
  readonly roleIds: readonly string[];
}

/** The settings of a group, as configurations read them. */
export interface GroupSettingsRow extends Omit<StoredGroup, "roleIds"> {
  readonly isDefault: boolean;
  readonly roles: readonly RoleType[];
}

const wholeGroup = `item.version, item.is_default, ${policyGroupJson("item")} AS "group",
  (SELECT json_agg(${roleJson("role")} ORDER BY role.id)
   FROM group_roles AS given JOIN roles AS role ON role.tenant_id = given.tenant_id AND role.id = given.role_id
   WHERE given.tenant_id = item.tenant_id AND given.group_id = item.id) AS roles,
  ${groupMembersText(
    "member",
    `FROM group_members AS joined
   JOIN users AS member ON member.tenant_id = joined.tenant_id AND member.id = joined.user_id
   WHERE joined.tenant_id = item.tenant_id AND joined.group_id = item.id`,
  )} AS users`;

const source: ListSource = {
  table: "groups",
  select: wholeGroup,
  columns: {
    id: { value: "item.id" },
    name: { value: "item.name", key: "item.name_key" },
    createdAt: { value: "item.created_at" },
    isNamedByPolicy: {
      value: `(EXISTS (SELECT FROM policies AS policy
                       WHERE policy.tenant_id = item.tenant_id AND NOT policy.is_default AND policy.all_groups)
        OR EXISTS (SELECT FROM policy_groups AS named
                   WHERE named.tenant_id = item.tenant_id AND named.group_id = item.id))`,
    },
    isSamlDefaultGroup: { value: "item.is_saml_default_group" },
    "users.id": {
      value: "joined.user_id",
      within: (predicate) =>
        `EXISTS (SELECT FROM group_members AS joined
                 WHERE joined.tenant_id = item.tenant_id AND joined.group_id = item.id AND ${predicate})`,
    },
  },
};

const selectOne = statement<GroupRow, [tenantId: string, id: string]>(
  "groups.read",
  `SELECT ${wholeGroup} FROM groups AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectAll = statement<GroupSettingsRow, [tenantId: string]>(
  "groups.read_all",
  `SELECT id, name, description, max_devices AS "maxDevices",
          device_session_lifetime AS "deviceSessionLifetime", is_default AS "isDefault",
          is_saml_default_group AS "isSamlDefaultGroup", idp_mapping AS "idpMapping",
          coalesce((SELECT json_agg(role.type) FROM group_roles AS given
                    JOIN roles AS role ON role.tenant_id = given.tenant_id AND role.id = given.role_id
                    WHERE given.tenant_id = item.tenant_id AND given.group_id = item.id), '[]') AS roles
   FROM groups AS item WHERE tenant_id = $1`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, description text, "maxDevices" integer,
  "deviceSessionLifetime" integer, "isSamlDefaultGroup" boolean, "idpMapping" text[], "roleIds" uuid[])`;
const insert = statement<never, [tenantId: string, at: Date, rows: string]>(
  "groups.insert",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), inserted AS (
     INSERT INTO groups (tenant_id, id, created_at, updated_at, name, description, max_devices, is_saml_default_group,
                         idp_mapping, device_session_lifetime, device_sessions_since)
     SELECT $1, id, $2, $2, name, description, "maxDevices", "isSamlDefaultGroup", "idpMapping", "deviceSessionLifetime",
       CASE WHEN "deviceSessionLifetime" IS NOT NULL THEN $2::timestamptz END FROM given
   )
   INSERT INTO group_roles (tenant_id, group_id, role_id)
   SELECT $1, given.id, role.id FROM given, unnest(given."roleIds") AS role (id)`,
);
const update = statement<never, [tenantId: string, at: Date, rows: string]>(
  "groups.update",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), updated AS (
     UPDATE groups AS item
     SET updated_at = $2, version = item.version + 1, name = given.name, description = given.description,
         max_devices = given."maxDevices", is_saml_default_group = given."isSamlDefaultGroup",
         idp_mapping = given."idpMapping", device_session_lifetime = given."deviceSessionLifetime",
         device_sessions_since = CASE
           WHEN item.device_session_lifetime IS NULL AND given."deviceSessionLifetime" IS NOT NULL THEN $2::timestamptz
           ELSE item.device_sessions_since END
     FROM given WHERE item.tenant_id = $1 AND item.id = given.id
   ), removed AS (
     DELETE FROM group_roles AS held USING given
     WHERE held.tenant_id = $1 AND held.group_id = given.id AND held.role_id <> ALL (given."roleIds")
   )
   INSERT INTO group_roles (tenant_id, group_id, role_id)
   SELECT $1, given.id, role.id FROM given, unnest(given."roleIds") AS role (id)
   ON CONFLICT DO NOTHING`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "groups.delete",
  "DELETE FROM groups WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);
const lockToChange = statement<LockedGroup, [tenantId: string, id: string]>(
  "groups.lock_to_change",
  "SELECT id, version, name FROM groups WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE",
);
const lockToDelete = statement<LockedGroup, [tenantId: string, id: string]>(
  "groups.lock_to_delete",
  "SELECT id, version, name FROM groups WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
);
const lockToJoin = statement<{ id: string }, [tenantId: string, ids: readonly string[]]>(
  "groups.lock_to_join",
  "SELECT id FROM groups WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR SHARE",
);
const lockGroupMembers = statement<never, [tenantId: string, groupId: string]>(
  "groups.lock_members",
  `SELECT FROM group_members AS joined
   JOIN users AS member ON member.tenant_id = joined.tenant_id AND member.id = joined.user_id
   WHERE joined.tenant_id = $1 AND joined.group_id = $2 ORDER BY member.id FOR NO KEY UPDATE OF member`,
);
const selectRoleTypes = statement<{ name: string; types: RoleType[] }, [tenantId: string, ids: readonly string[]]>(
  "groups.role_types",
  `SELECT item.name, json_agg(role.type) AS types
   FROM groups AS item
   JOIN group_roles AS given ON given.tenant_id = item.tenant_id AND given.group_id = item.id
   JOIN roles AS role ON role.tenant_id = given.tenant_id AND role.id = given.role_id
   WHERE item.tenant_id = $1 AND item.id = ANY ($2::uuid[]) GROUP BY item.id, item.name, item.name_key
   ORDER BY item.name_key`,
);
const lockDefault = statement<{ id: string }, [tenantId: string]>(
  "groups.lock_default",
  "SELECT id FROM groups WHERE tenant_id = $1 AND is_default FOR NO KEY UPDATE",
);
const selectMapped = statement<{ id: string }, [tenantId: string, names: readonly string[]]>(
  "groups.mapped",
  "SELECT id FROM groups WHERE tenant_id = $1 AND idp_mapping && $2::text[] ORDER BY id FOR SHARE",
);
const selectNewUsers = statement<{ id: string }, [tenantId: string]>(
  "groups.of_new_users",
  "SELECT id FROM groups WHERE tenant_id = $1 AND (is_default OR is_saml_default_group) ORDER BY id FOR SHARE",
);
const selectSamlDefault = statement<{ id: string }, [tenantId: string]>(
  "groups.saml_default",
  "SELECT id FROM groups WHERE tenant_id = $1 AND is_saml_default_group FOR NO KEY UPDATE",
);
// The unique index on the mark is checked for each row, so the mark must be free before another group gets it.
const clearSamlDefault = statement<never, [tenantId: string, keptId: string | null]>(
  "groups.clear_saml_default",
  `UPDATE groups SET is_saml_default_group = false
   WHERE tenant_id = $1 AND is_saml_default_group AND id IS DISTINCT FROM $2::uuid`,
);
const selectDefault = statement<{ id: string }, [tenantId: string]>(
  "groups.default",
  "SELECT id FROM groups WHERE tenant_id = $1 AND is_default FOR SHARE",
);
const selectLargestLimit = statement<{ limit: number | null }, [tenantId: string, userId: string]>(
  "groups.largest_device_limit",
  `SELECT max(groups.max_devices) AS limit
   FROM group_members AS joined
   JOIN groups ON groups.tenant_id = joined.tenant_id AND groups.id = joined.group_id
   WHERE joined.tenant_id = $1 AND joined.user_id = $2`,
);

export function listGroups(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly rows: GroupRow[]; readonly total: number }> {
  return listPage(tx, source, query);
}

export function readAllGroups(tx: TenantTx): Promise<GroupSettingsRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readGroup(tx: TenantTx, id: string): Promise<GroupRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** The columns of a group that commands need before they read its whole record. */
export interface LockedGroup {
  readonly id: string;
  readonly version: number;
  readonly name: string;
}

/** Locks the group: nobody else can change it, and nobody joins it, before the transaction ends. */
export async function lockGroup(tx: TenantTx, id: string): Promise<LockedGroup | undefined> {
  return (await tx.query(lockToChange, tx.tenantId, id))[0];
}

/** Locks the group like `lockGroup`, and against new references too. */
export async function lockGroupToDelete(tx: TenantTx, id: string): Promise<LockedGroup | undefined> {
  return (await tx.query(lockToDelete, tx.tenantId, id))[0];
}

/**
 * The ids that groups of the tenant have. Before the transaction ends, nobody deletes these groups or changes their
 * roles, so that a check of what membership gives stays valid.
 */
export async function lockGroupsToJoin(tx: TenantTx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  return new Set((await tx.query(lockToJoin, tx.tenantId, ids)).map(({ id }) => id));
}

/** Locks the members of a locked group. None changes, joins or leaves a group before the transaction ends. */
export async function lockMembers(tx: TenantTx, groupId: string): Promise<void> {
  await tx.query(lockGroupMembers, tx.tenantId, groupId);
}

/** The role types of each group that has roles, ordered by the name of the group. */
export function roleTypesOfGroups(
  tx: TenantTx,
  ids: readonly string[],
): Promise<{ readonly name: string; readonly types: readonly RoleType[] }[]> {
  return tx.query(selectRoleTypes, tx.tenantId, ids);
}

/** @throws AppError name_taken */
export async function insertGroups(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  groups: readonly StoredGroup[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { groups_name_unique: () => nameTaken("a group", groups) },
    writeInChunks(groups, (rows) => tx.query(insert, tx.tenantId, at, rows)),
  );
}

/**
 * Updates groups, including their roles.
 *
 * @throws AppError name_taken
 */
export async function updateGroups(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  groups: readonly StoredGroup[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { groups_name_unique: () => nameTaken("a group", groups) },
    writeInChunks(groups, (rows) => tx.query(update, tx.tenantId, at, rows)),
  );
}

/** Deletes groups with their roles, their memberships, and their entries in policies. */
export async function deleteGroups(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}

/**
 * Removes the SAML default mark from every group but one, before another group gets it.
 *
 * @param keptId the group that keeps the mark if it has it; null for none
 */
export async function clearSamlDefaultGroup(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  keptId: string | null,
): Promise<void> {
  await tx.query(clearSamlDefault, tx.tenantId, keptId);
}

/**
 * Finds and locks the SAML default group: no other transaction can move the mark before this one ends.
 *
 * The tenant's default group is always locked first. A transaction that waited for the marked group alone could find
 * another group marked once the lock is free.
 */
export async function lockSamlDefaultGroup(tx: TenantTx): Promise<string | undefined> {
  const [, marked] = await Promise.all([tx.query(lockDefault, tx.tenantId), tx.query(selectSamlDefault, tx.tenantId)]);
  return marked[0]?.id;
}

/** The group of users that are in no other group. It is neither changed nor deleted before the transaction ends. */
export async function defaultGroupId(tx: TenantTx): Promise<string> {
  const [group] = await tx.query(selectDefault, tx.tenantId);
  if (group === undefined) throw new Error(`the tenant ${tx.tenantId} has no default group`);
  return group.id;
}

/** The largest `maxDevices` of the user's groups; null for a user without groups. */
export async function largestDeviceLimit(tx: TenantTx, userId: string): Promise<number | null> {
  return (await tx.query(selectLargestLimit, tx.tenantId, userId))[0]?.limit ?? null;
}

/** The groups that are mapped to groups of an identity provider. None changes before the transaction ends. */
export async function lockMappedGroups(tx: TenantTx, names: readonly string[]): Promise<readonly string[]> {
  return (await tx.query(selectMapped, tx.tenantId, names)).map(({ id }) => id);
}

/** The groups of users whom a first sign-in creates: the default group, and the one of single sign-on. */
export async function lockGroupsOfNewUsers(tx: TenantTx): Promise<readonly string[]> {
  return (await tx.query(selectNewUsers, tx.tenantId)).map(({ id }) => id);
}
