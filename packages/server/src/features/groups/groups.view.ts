import type { Group, PolicyGroup } from "@gatehouse/contract/records/group";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { jsonObject } from "../../platform/db/json-object.ts";
import { type JsonField, jsonArrayText } from "../../platform/db/json-text.ts";
import type { EmbedJson } from "../../platform/embedded-json.ts";
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

/**
 * SQL for the members of a group as the JSON that groups show: one text, because there may be thousands.
 *
 * @param alias the name of the row of `users`
 * @param from SQL that begins with FROM
 */
export function groupMembersText(alias: string, from: string): string {
  return jsonArrayText(alias, memberFields, `${alias}.id`, from);
}

const memberFields: readonly JsonField[] = [
  { name: "id", column: "id", kind: "id" },
  { name: "createdAt", column: "created_at", kind: "time" },
  { name: "updatedAt", column: "updated_at", kind: "time" },
  { name: "firstName", column: "first_name", kind: "filled-text" },
  { name: "lastName", column: "last_name", kind: "filled-text" },
  { name: "email", column: "email", kind: "text" },
];

/** A group with everything that its record embeds. */
export interface WholeGroup {
  readonly group: PolicyGroupJson;
  readonly is_default: boolean;
  readonly roles: RoleJson[] | null;
  /** JSON of an array. */
  readonly users: string;
}

/** @param embed returns the value for the place of JSON, by default the parsed JSON */
export function groupView(row: WholeGroup, embed: EmbedJson = JSON.parse): Group {
  return {
    ...policyGroupView(row.group),
    roles: rolesView(row.roles),
    // New users join the default group, users from single sign-on the SAML default group. Both must exist.
    deleteable: !row.is_default && !row.group.is_saml_default_group,
    users: embed<Group["users"]>(row.users),
  };
}

/**
 * A group as the audit record stores it, without its members: there may be thousands, and the entries of the users
 * record memberships.
 */
export function auditedGroup(row: WholeGroup): Omit<Group, "users"> {
  const { users: _users, ...group } = groupView({ ...row, users: "[]" });
  return group;
}
