/** All resources of a tenant, and many at once: for configurations, which are read and written as a whole. */
import type { ResourceType } from "@gatehouse/contract/records/address";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

interface BulkResourceSettings {
  readonly id: string;
  readonly name: string;
  readonly type: ResourceType;
  readonly description: string;
  readonly loadBalancingMode: LoadBalancingMode;
}

export interface BulkResourceRow extends BulkResourceSettings {
  /** Names, in order of priority. */
  readonly gateways: readonly string[];
  readonly addresses: readonly {
    readonly address: string;
    /** Names, in their order. */
    readonly protocols: readonly string[];
  }[];
}

export interface BulkResource extends BulkResourceSettings {
  /** In order of priority. */
  readonly gatewayIds: readonly string[];
}

// One look into an index for each record and each name it has. Joined as a whole, they would be compared each with each
// where PostgreSQL takes them for few: a tenant that was filled a moment ago is not in its statistics.
const selectAll = statement<BulkResourceRow, [tenantId: string]>(
  "resources.read_all",
  `SELECT item.id, item.name, item.type, item.description, item.load_balancing_mode AS "loadBalancingMode",
          coalesce((
            SELECT json_agg((SELECT name FROM gateways WHERE tenant_id = $1 AND id = link.gateway_id)
                            ORDER BY link.priority)
            FROM resource_gateways AS link WHERE link.tenant_id = $1 AND link.resource_id = item.id
          ), '[]') AS gateways,
          coalesce((
            SELECT json_agg(json_build_object('address', address.address, 'protocols', coalesce((
              SELECT json_agg((SELECT name FROM protocols WHERE tenant_id = $1 AND id = link.protocol_id)
                              ORDER BY link.position)
              FROM address_protocols AS link WHERE link.tenant_id = $1 AND link.address_id = address.id
            ), '[]')))
            FROM addresses AS address WHERE address.tenant_id = $1 AND address.resource_id = item.id
          ), '[]') AS addresses
   FROM resources AS item
   WHERE item.tenant_id = $1`,
);

const given = `json_to_recordset($3::json) AS given (id uuid, name text, type text, description text,
  "loadBalancingMode" text, "gatewayIds" uuid[])`;

const insertMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "resources.insert_many",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), made AS (
     INSERT INTO resources (tenant_id, id, created_at, updated_at, name, type, description, load_balancing_mode)
     SELECT $1, id, $2, $2, name, type, description, "loadBalancingMode" FROM given
   )
   INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
   SELECT $1, given.id, listed.id, (listed.place - 1)::smallint
   FROM given, unnest(given."gatewayIds") WITH ORDINALITY AS listed (id, place)`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "resources.update_many",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), changed AS (
     UPDATE resources SET updated_at = $2, version = version + 1, description = given.description,
                          load_balancing_mode = given."loadBalancingMode"
     FROM given WHERE resources.tenant_id = $1 AND resources.id = given.id
   ), wanted AS (
     SELECT given.id AS resource_id, listed.id AS gateway_id, (listed.place - 1)::smallint AS priority
     FROM given, unnest(given."gatewayIds") WITH ORDINALITY AS listed (id, place)
   ), gone AS (
     DELETE FROM resource_gateways AS link USING given
     WHERE link.tenant_id = $1 AND link.resource_id = given.id AND NOT EXISTS (
       SELECT FROM wanted WHERE wanted.resource_id = link.resource_id AND wanted.gateway_id = link.gateway_id
     )
   )
   INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
   SELECT $1, resource_id, gateway_id, priority FROM wanted
   ON CONFLICT (tenant_id, resource_id, gateway_id) DO UPDATE SET priority = excluded.priority`,
);
const deleteMany = statement<never, [tenantId: string, ids: readonly string[]]>(
  "resources.delete_many",
  "DELETE FROM resources WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

export function readAllResources(tx: TenantTx): Promise<BulkResourceRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

/** Without addresses. Their names must be free. */
export function insertResources(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  resources: readonly BulkResource[],
  at: Date,
): Promise<void> {
  return writeInChunks(resources, (rows) => tx.query(insertMany, tx.tenantId, at, rows));
}

/** Everything but names, types and addresses. */
export function updateResources(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  resources: readonly BulkResource[],
  at: Date,
): Promise<void> {
  return writeInChunks(resources, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** With their addresses, connections, and mentions in policies. */
export async function deleteResources(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(deleteMany, tx.tenantId, ids);
}
