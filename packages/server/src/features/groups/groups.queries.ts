import type { RoleType } from "@gatehouse/contract/permissions";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import type { ListSource } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { listPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { roleJson } from "../roles/roles.api.ts";
import { groupMemberJson, policyGroupJson, type WholeGroup } from "./groups.view.ts";

export interface GroupRow extends WholeGroup {
  readonly version: number;
}

const wholeGroup = `item.version, item.is_default, ${policyGroupJson("item")} AS "group",
  (SELECT json_agg(${roleJson("role")} ORDER BY role.id)
   FROM group_roles AS given JOIN roles AS role ON role.tenant_id = given.tenant_id AND role.id = given.role_id
   WHERE given.tenant_id = item.tenant_id AND given.group_id = item.id) AS roles,
  (SELECT json_agg(${groupMemberJson("member")} ORDER BY member.id)
   FROM group_members AS joined JOIN users AS member ON member.tenant_id = joined.tenant_id AND member.id = joined.user_id
   WHERE joined.tenant_id = item.tenant_id AND joined.group_id = item.id) AS users`;

const source: ListSource = {
  table: "groups",
  select: wholeGroup,
  columns: {
    id: { value: "item.id" },
    name: { value: "item.name", key: "item.name_key" },
    createdAt: { value: "item.created_at" },
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
const insert = statement<
  never,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    description: string,
    maxDevices: number,
    isSamlDefaultGroup: boolean,
    idpMapping: readonly string[],
    roleIds: readonly string[],
  ]
>(
  "groups.insert",
  `WITH made AS (
     INSERT INTO groups (tenant_id, id, created_at, updated_at, name, description, max_devices,
                         is_saml_default_group, idp_mapping)
     VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8)
     RETURNING tenant_id, id
   )
   INSERT INTO group_roles (tenant_id, group_id, role_id)
   SELECT made.tenant_id, made.id, given.role_id FROM made, unnest($9::uuid[]) AS given (role_id)`,
);
const update = statement<
  never,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    description: string,
    maxDevices: number,
    isSamlDefaultGroup: boolean,
    idpMapping: readonly string[],
    roleIds: readonly string[],
  ]
>(
  "groups.update",
  `WITH changed AS (
     UPDATE groups SET updated_at = $3, version = version + 1, name = $4, description = $5, max_devices = $6,
                       is_saml_default_group = $7, idp_mapping = $8
     WHERE tenant_id = $1 AND id = $2
   ), taken AS (
     DELETE FROM group_roles WHERE tenant_id = $1 AND group_id = $2 AND role_id <> ALL ($9::uuid[])
   )
   INSERT INTO group_roles (tenant_id, group_id, role_id) SELECT $1, $2, role_id FROM unnest($9::uuid[]) AS given (role_id)
   ON CONFLICT DO NOTHING`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "groups.delete",
  "DELETE FROM groups WHERE tenant_id = $1 AND id = $2",
);
const lockToChange = statement<LockedGroup, [tenantId: string, id: string]>(
  "groups.lock_to_change",
  "SELECT id, version, name FROM groups WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE",
);
const lockToDelete = statement<LockedGroup, [tenantId: string, id: string]>(
  "groups.lock_to_delete",
  "SELECT id, version, name FROM groups WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
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
const selectSamlDefault = statement<{ id: string }, [tenantId: string]>(
  "groups.saml_default",
  "SELECT id FROM groups WHERE tenant_id = $1 AND is_saml_default_group FOR NO KEY UPDATE",
);
const unmarkSamlDefault = statement<never, [tenantId: string, id: string, at: Date]>(
  "groups.unmark_saml_default",
  `UPDATE groups SET is_saml_default_group = false, updated_at = $3, version = version + 1
   WHERE tenant_id = $1 AND id = $2`,
);
const selectDefault = statement<{ id: string }, [tenantId: string]>(
  "groups.default",
  "SELECT id FROM groups WHERE tenant_id = $1 AND is_default FOR KEY SHARE",
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

export async function readGroup(tx: TenantTx, id: string): Promise<GroupRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** A group's own columns, as far as commands decide by them before they read it whole. */
export interface LockedGroup {
  readonly id: string;
  readonly version: number;
  readonly name: string;
}

/** Keeps others from changing the group until the transaction ends; users can still be put into it. */
export async function lockGroup(tx: TenantTx, id: string): Promise<LockedGroup | undefined> {
  return (await tx.query(lockToChange, tx.tenantId, id))[0];
}

/** As `lockGroup`, and nobody can refer to the group any more. */
export async function lockGroupToDelete(tx: TenantTx, id: string): Promise<LockedGroup | undefined> {
  return (await tx.query(lockToDelete, tx.tenantId, id))[0];
}

/** What the roles of each group are, by the names of the groups; those without roles are left out. */
export function roleTypesOfGroups(
  tx: TenantTx,
  ids: readonly string[],
): Promise<{ readonly name: string; readonly types: readonly RoleType[] }[]> {
  return tx.query(selectRoleTypes, tx.tenantId, ids);
}

export interface StoredGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly maxDevices: number;
  readonly isSamlDefaultGroup: boolean;
  readonly idpMapping: readonly string[];
  readonly roleIds: readonly string[];
}

/** @throws AppError name_taken */
export async function insertGroup(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  group: StoredGroup,
  at: Date,
): Promise<void> {
  const { id, name, description, maxDevices, isSamlDefaultGroup, idpMapping, roleIds } = group;
  await withConstraints(
    { groups_name_unique: () => nameTaken(name) },
    tx.query(insert, tx.tenantId, id, at, name, description, maxDevices, isSamlDefaultGroup, idpMapping, roleIds),
  );
}

/**
 * Stores everything of the group, its roles included.
 *
 * @throws AppError name_taken
 */
export async function updateGroup(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  group: StoredGroup,
  at: Date,
): Promise<void> {
  const { id, name, description, maxDevices, isSamlDefaultGroup, idpMapping, roleIds } = group;
  await withConstraints(
    { groups_name_unique: () => nameTaken(name) },
    tx.query(update, tx.tenantId, id, at, name, description, maxDevices, isSamlDefaultGroup, idpMapping, roleIds),
  );
}

function nameTaken(name: string): AppError {
  return new AppError("name_taken", {
    detail: `A group is already called ${JSON.stringify(name)}.`,
    errors: [{ pointer: "/name", message: "is taken" }],
  });
}

/** Deletes the group, with its roles and memberships. */
export async function deleteGroup(tx: TenantTx, _granted: Granted<"groups:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

/**
 * Finds the SAML default group and keeps every other transaction from moving the mark until this one ends.
 *
 * The tenant's default group is locked first, and always: whoever waited for the marked group alone would find, once it
 * is free, that another one is marked now.
 */
export async function lockSamlDefaultGroup(tx: TenantTx): Promise<string | undefined> {
  const [, marked] = await Promise.all([tx.query(lockDefault, tx.tenantId), tx.query(selectSamlDefault, tx.tenantId)]);
  return marked[0]?.id;
}

/** Takes the SAML default mark off a group. */
export async function unmarkSamlDefaultGroup(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  id: string,
  at: Date,
): Promise<void> {
  await tx.query(unmarkSamlDefault, tx.tenantId, id, at);
}

/** The group that users join whom nobody put into another one. It cannot be deleted before the transaction ends. */
export async function defaultGroupId(tx: TenantTx): Promise<string> {
  const [group] = await tx.query(selectDefault, tx.tenantId);
  if (group === undefined) throw new Error(`the tenant ${tx.tenantId} has no default group`);
  return group.id;
}

/** The largest `maxDevices` of the user's groups; null for a user without groups. */
export async function largestDeviceLimit(tx: TenantTx, userId: string): Promise<number | null> {
  return (await tx.query(selectLargestLimit, tx.tenantId, userId))[0]?.limit ?? null;
}
