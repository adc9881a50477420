import type { Group, PolicyGroup } from "@gatehouse/contract/records/group";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { jsonObject } from "../../platform/db/json-object.ts";
import { type RoleJson, rolesView } from "../roles/roles.api.ts";

/** A group as `policyGroupJson` selects it. */
export interface PolicyGroupJson {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly max_devices: number;
  readonly device_session_lifetime: number | null;
  readonly is_saml_default_group: boolean;
  readonly idp_mapping: string[];
}

/**
 * SQL for a group as policies show it, as one json value.
 *
 * @param alias the name of the row of `groups`
 */
export function policyGroupJson(alias: string): string {
  return jsonObject(alias, [
    "id",
    "created_at",
    "updated_at",
    "name",
    "description",
    "max_devices",
    "device_session_lifetime",
    "is_saml_default_group",
    "idp_mapping",
  ]);
}

export function policyGroupView(row: PolicyGroupJson): PolicyGroup {
  return {
    id: row.id,
    createdAt: isoTimestamp(row.created_at),
    updatedAt: isoTimestamp(row.updated_at),
    name: row.name,
    ...(row.description === "" ? {} : { description: row.description }),
    maxDevices: row.max_devices,
    ...(row.device_session_lifetime === null ? {} : { deviceSessionLifetime: row.device_session_lifetime }),
    isSamlDefaultGroup: row.is_saml_default_group,
    idpMapping: row.idp_mapping,
  };
}

/** A user as `groupMemberJson` selects it. */
export interface GroupMemberJson {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
}

/**
 * SQL for a user as groups show it, as one json value.
 *
 * @param alias the name of the row of `users`
 */
export function groupMemberJson(alias: string): string {
  return jsonObject(alias, ["id", "created_at", "updated_at", "first_name", "last_name", "email"]);
}

function groupMemberView(row: GroupMemberJson): Group["users"][number] {
  return {
    id: row.id,
    createdAt: isoTimestamp(row.created_at),
    updatedAt: isoTimestamp(row.updated_at),
    ...(row.first_name === "" ? {} : { firstName: row.first_name }),
    ...(row.last_name === "" ? {} : { lastName: row.last_name }),
    email: row.email,
  };
}

/** A group with everything that its record embeds. */
export interface WholeGroup {
  readonly group: PolicyGroupJson;
  readonly is_default: boolean;
  readonly roles: RoleJson[] | null;
  readonly users: GroupMemberJson[] | null;
}

export function groupView(row: WholeGroup): Group {
  return {
    ...policyGroupView(row.group),
    roles: rolesView(row.roles),
    // New users join the default group, users from single sign-on the SAML default group. Both must exist.
    deleteable: !row.is_default && !row.group.is_saml_default_group,
    users: (row.users ?? []).map(groupMemberView),
  };
}

/**
 * A group as the audit record stores it, without its members: there may be thousands, and the entries of the users
 * record memberships.
 */
export function auditedGroup(row: WholeGroup): Omit<Group, "users"> {
  const { users: _users, ...group } = groupView({ ...row, users: null });
  return group;
}
