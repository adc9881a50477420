import { type RoleType, rolesByPrivilege } from "@gatehouse/contract/permissions";
import type { Role } from "@gatehouse/contract/records/role";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { jsonObject } from "../../platform/db/json-object.ts";

/** A role as `roleJson` selects it. */
export interface RoleJson {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly type: RoleType;
  readonly deleteable: boolean;
}

/**
 * SQL for a role as one json value.
 *
 * @param alias the name of the row of `roles`
 */
export function roleJson(alias: string): string {
  return jsonObject(alias, ["id", "created_at", "updated_at", "name", "description", "type", "deleteable"]);
}

export function roleView(row: RoleJson): Role {
  return {
    id: row.id,
    createdAt: isoTimestamp(row.created_at),
    updatedAt: isoTimestamp(row.updated_at),
    name: row.name,
    ...(row.description === "" ? {} : { description: row.description }),
    deleteable: row.deleteable,
    type: row.type,
  };
}

/** Roles as records embed them, the most privileged first. */
export function rolesView(rows: readonly RoleJson[] | null): Role[] {
  const place = (row: RoleJson) => rolesByPrivilege.indexOf(row.type);
  return [...(rows ?? [])].sort((one, two) => place(one) - place(two)).map(roleView);
}
