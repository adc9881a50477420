import type { RoleType } from "@gatehouse/contract/permissions";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type RoleJson, roleJson } from "./roles.view.ts";

export interface RoleRow {
  readonly version: number;
  readonly role: RoleJson;
}

const columns = `version, ${roleJson("roles")} AS role`;

const selectMany = statement<RoleRow, [tenantId: string, afterId: string, limit: number]>(
  "roles.list",
  `SELECT ${columns} FROM roles WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
);
const selectOne = statement<RoleRow, [tenantId: string, id: string]>(
  "roles.read",
  `SELECT ${columns} FROM roles WHERE tenant_id = $1 AND id = $2`,
);
const selectTypes = statement<{ id: string; type: RoleType }, [tenantId: string, ids: readonly string[]]>(
  "roles.types",
  // FOR KEY SHARE prevents the deletion of the roles before the transaction that refers to them ends.
  "SELECT id, type FROM roles WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) FOR KEY SHARE",
);

const selectIds = statement<{ id: string; type: RoleType }, [tenantId: string]>(
  "roles.ids",
  "SELECT id, type FROM roles WHERE tenant_id = $1",
);

export function listRoles(tx: TenantTx, afterId: string, limit: number): Promise<RoleRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export async function readRole(tx: TenantTx, id: string): Promise<RoleRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** The id of each role of the tenant. */
export async function roleIdsByType(tx: TenantTx): Promise<ReadonlyMap<RoleType, string>> {
  return new Map((await tx.query(selectIds, tx.tenantId)).map(({ id, type }) => [type, id]));
}

/** The types of the roles that exist, by id. These roles cannot be deleted before the transaction ends. */
export async function existingRoleTypes(tx: TenantTx, ids: readonly string[]): Promise<ReadonlyMap<string, RoleType>> {
  if (ids.length === 0) return new Map();
  return new Map((await tx.query(selectTypes, tx.tenantId, ids)).map(({ id, type }) => [id, type]));
}
