/** All groups of a tenant, and many at once: for configurations, which are read and written as a whole. */
import type { RoleType } from "@gatehouse/contract/permissions";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface BulkGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly maxDevices: number;
  readonly isSamlDefaultGroup: boolean;
  readonly idpMapping: readonly string[];
  readonly roles: readonly RoleType[];
}

export interface BulkGroupRow extends BulkGroup {
  readonly isDefault: boolean;
}

const selectAll = statement<BulkGroupRow, [tenantId: string]>(
  "groups.read_all",
  `SELECT id, name, description, max_devices AS "maxDevices", is_default AS "isDefault",
          is_saml_default_group AS "isSamlDefaultGroup", idp_mapping AS "idpMapping",
          coalesce((SELECT json_agg(role.type) FROM group_roles AS given
                    JOIN roles AS role ON role.tenant_id = given.tenant_id AND role.id = given.role_id
                    WHERE given.tenant_id = item.tenant_id AND given.group_id = item.id), '[]') AS roles
   FROM groups AS item WHERE tenant_id = $1`,
);

const given = `json_to_recordset($3::json) AS given (id uuid, name text, description text, "maxDevices" integer,
  "isSamlDefaultGroup" boolean, "idpMapping" text[], roles text[])`;

const insertMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "groups.insert_many",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), made AS (
     INSERT INTO groups (tenant_id, id, created_at, updated_at, name, description, max_devices, is_saml_default_group,
                         idp_mapping)
     SELECT $1, id, $2, $2, name, description, "maxDevices", "isSamlDefaultGroup", "idpMapping" FROM given
   )
   INSERT INTO group_roles (tenant_id, group_id, role_id)
   SELECT $1, given.id, role.id FROM given JOIN roles AS role ON role.tenant_id = $1 AND role.type = ANY (given.roles)`,
);
// The mark moves from one group to another: the index that allows one of them looks at every row by itself.
const unmarkSaml = statement<never, [tenantId: string, keptId: string | null]>(
  "groups.unmark_saml_but",
  `UPDATE groups SET is_saml_default_group = false
   WHERE tenant_id = $1 AND is_saml_default_group AND id IS DISTINCT FROM $2::uuid`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "groups.update_many",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), changed AS (
     UPDATE groups SET updated_at = $2, version = version + 1, description = given.description,
                       max_devices = given."maxDevices", is_saml_default_group = given."isSamlDefaultGroup",
                       idp_mapping = given."idpMapping"
     FROM given WHERE groups.tenant_id = $1 AND groups.id = given.id
   ), wanted AS (
     SELECT given.id AS group_id, role.id AS role_id
     FROM given JOIN roles AS role ON role.tenant_id = $1 AND role.type = ANY (given.roles)
   ), gone AS (
     DELETE FROM group_roles AS held USING given
     WHERE held.tenant_id = $1 AND held.group_id = given.id AND NOT EXISTS (
       SELECT FROM wanted WHERE wanted.group_id = held.group_id AND wanted.role_id = held.role_id
     )
   )
   INSERT INTO group_roles (tenant_id, group_id, role_id) SELECT $1, group_id, role_id FROM wanted
   ON CONFLICT DO NOTHING`,
);
const deleteMany = statement<never, [tenantId: string, ids: readonly string[]]>(
  "groups.delete_many",
  "DELETE FROM groups WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

export function readAllGroups(tx: TenantTx): Promise<BulkGroupRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

/** @param samlDefaultId the group that is to be the SAML default; every other loses the mark before any gets it */
export async function moveSamlMark(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  samlDefaultId: string | null,
): Promise<void> {
  await tx.query(unmarkSaml, tx.tenantId, samlDefaultId);
}

/** Their names must be free. */
export function insertGroups(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  groups: readonly BulkGroup[],
  at: Date,
): Promise<void> {
  return writeInChunks(groups, (rows) => tx.query(insertMany, tx.tenantId, at, rows));
}

/** Everything but their names. */
export function updateGroups(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  groups: readonly BulkGroup[],
  at: Date,
): Promise<void> {
  return writeInChunks(groups, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** With their memberships, and their mentions in policies. */
export async function deleteGroups(
  tx: TenantTx,
  _granted: Granted<"groups:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(deleteMany, tx.tenantId, ids);
}
