import type { ResourceType } from "@gatehouse/contract/records/address";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { countStatement, type ListSource, pageStatement } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type AddressJson, addressJson } from "../addresses/addresses.api.ts";
import { type GatewayJson, gatewayJson } from "../gateways/gateways.api.ts";

/** The resource's own columns. */
export interface ResourceRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
  readonly name: string;
  readonly type: ResourceType;
  readonly load_balancing_mode: LoadBalancingMode;
  readonly description: string;
}

/** The resource with everything that its record embeds. */
export interface WholeResourceRow extends ResourceRow {
  readonly addresses: AddressJson[] | null;
  readonly gateways: GatewayJson[] | null;
}

const columns = ["id", "created_at", "updated_at", "version", "name", "type", "load_balancing_mode", "description"]
  .map((column) => `item.${column}`)
  .join(", ");

/** @param withToken the placeholder of a boolean: whether the caller may see gateways' tokens */
function wholeResource(withToken: string): string {
  return `${columns},
    (SELECT json_agg(${addressJson("address")} ORDER BY address.id) FROM addresses AS address
     WHERE address.tenant_id = item.tenant_id AND address.resource_id = item.id) AS addresses,
    (SELECT json_agg(${gatewayJson("gateway", withToken)} ORDER BY connected.priority)
     FROM resource_gateways AS connected
     JOIN gateways AS gateway ON gateway.tenant_id = connected.tenant_id AND gateway.id = connected.gateway_id
     WHERE connected.tenant_id = item.tenant_id AND connected.resource_id = item.id) AS gateways`;
}

function listSource(withToken: boolean): ListSource {
  const linked = (table: string, column: string) => ({
    value: `linked.${column}`,
    within: (predicate: string) =>
      `EXISTS (SELECT FROM ${table} AS linked
               WHERE linked.tenant_id = item.tenant_id AND linked.resource_id = item.id AND ${predicate})`,
  });
  return {
    table: "resources",
    select: wholeResource(String(withToken)),
    columns: {
      id: { value: "item.id" },
      name: { value: "item.name", key: "item.name_key" },
      type: { value: "item.type" },
      "policies.id": linked("policy_resources", "policy_id"),
      "gateways.id": linked("resource_gateways", "gateway_id"),
      "addresses.protocols.id": {
        value: "used.protocol_id",
        within: (predicate) =>
          `EXISTS (SELECT FROM addresses AS address
                   JOIN address_protocols AS used
                     ON used.tenant_id = address.tenant_id AND used.address_id = address.id
                   WHERE address.tenant_id = item.tenant_id AND address.resource_id = item.id AND ${predicate})`,
      },
    },
  };
}

const sources = { withToken: listSource(true), withoutToken: listSource(false) };

const selectWhole = statement<WholeResourceRow, [tenantId: string, id: string, withToken: boolean]>(
  "resources.read",
  `SELECT ${wholeResource("$3")} FROM resources AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectForChange = statement<ResourceRow, [tenantId: string, id: string]>(
  "resources.lock",
  `SELECT ${columns} FROM resources AS item WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE`,
);
const insert = statement<
  never,
  [tenantId: string, id: string, at: Date, name: string, type: ResourceType, description: string]
>(
  "resources.insert",
  `INSERT INTO resources (tenant_id, id, created_at, updated_at, name, type, description)
   VALUES ($1, $2, $3, $3, $4, $5, $6)`,
);
const update = statement<
  never,
  [tenantId: string, id: string, at: Date, name: string, description: string, mode: LoadBalancingMode]
>(
  "resources.update",
  `UPDATE resources
   SET updated_at = $3, version = version + 1, name = $4, description = $5, load_balancing_mode = $6
   WHERE tenant_id = $1 AND id = $2`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "resources.delete",
  "DELETE FROM resources WHERE tenant_id = $1 AND id = $2",
);
const replaceGateways = statement<never, [tenantId: string, id: string, gatewayIds: readonly string[]]>(
  "resources.replace_gateways",
  `WITH wanted AS (
     SELECT id, (ordinality - 1)::smallint AS priority FROM unnest($3::uuid[]) WITH ORDINALITY AS listed (id, ordinality)
   ), gone AS (
     DELETE FROM resource_gateways
     WHERE tenant_id = $1 AND resource_id = $2 AND gateway_id NOT IN (SELECT id FROM wanted)
   )
   INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
   SELECT $1, $2, id, priority FROM wanted
   ON CONFLICT (tenant_id, resource_id, gateway_id) DO UPDATE SET priority = excluded.priority`,
);
// Gateways that were deleted leave gaps, which are closed here, so that priorities never outgrow their column.
const connect = statement<never, [tenantId: string, id: string, gatewayId: string]>(
  "resources.connect_gateway",
  `WITH placed AS (
     SELECT gateway_id, priority, (row_number() OVER (ORDER BY priority) - 1)::smallint AS place
     FROM resource_gateways WHERE tenant_id = $1 AND resource_id = $2
   ), moved AS (
     UPDATE resource_gateways AS link SET priority = placed.place
     FROM placed
     WHERE link.tenant_id = $1 AND link.resource_id = $2 AND link.gateway_id = placed.gateway_id
       AND placed.place <> placed.priority
   )
   INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
   SELECT $1, $2, $3, count(*)::smallint FROM placed`,
);
const disconnect = statement<{ gateway_id: string }, [tenantId: string, id: string, gatewayId: string]>(
  "resources.disconnect_gateway",
  `DELETE FROM resource_gateways WHERE tenant_id = $1 AND resource_id = $2 AND gateway_id = $3 RETURNING gateway_id`,
);
const selectKeptCount = statement<{ count: number }, [tenantId: string, kinds: readonly string[]]>(
  "resources.kept_count",
  "SELECT coalesce(sum(count), 0)::bigint AS count FROM record_counts WHERE tenant_id = $1 AND kind = ANY ($2)",
);

export async function readResource(
  tx: TenantTx,
  id: string,
  withToken: boolean,
): Promise<WholeResourceRow | undefined> {
  return (await tx.query(selectWhole, tx.tenantId, id, withToken))[0];
}

/** Reads the resource and keeps others from changing it, or naming it in a policy, until the transaction ends. */
export async function lockResource(tx: TenantTx, id: string): Promise<ResourceRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

const everyKind = ["resources:PRIVATE", "resources:SAAS", "resources:INTERNET"];

/** The kept counts that add up to a list's total; undefined when its filters make it necessary to count. */
function keptCounts(query: ListQuery): readonly string[] | undefined {
  const [filter] = query.filters;
  if (filter === undefined) return everyKind;
  const byType = filter.field === "type" && (filter.operator === "eq" || filter.operator === "in");
  if (!byType || query.filters.length > 1) return undefined;
  return [...new Set(filter.values.map((type) => `resources:${type}`))];
}

export async function listResources(
  tx: TenantTx,
  query: ListQuery,
  withToken: boolean,
): Promise<{ readonly rows: WholeResourceRow[]; readonly total: number }> {
  const source = withToken ? sources.withToken : sources.withoutToken;
  const page = pageStatement<WholeResourceRow>(source, query);
  const kinds = keptCounts(query);
  const count = countStatement(source, query);
  const [rows, counts] = await Promise.all([
    tx.query(page.statement, ...page.parameters),
    kinds === undefined
      ? tx.query(count.statement, ...count.parameters)
      : tx.query(selectKeptCount, tx.tenantId, kinds),
  ]);
  return { rows, total: counts[0]?.count ?? 0 };
}

const nameTaken = (name: string) => ({
  resources_name_unique: () =>
    new AppError("name_taken", {
      detail: `A resource is already called ${JSON.stringify(name)}.`,
      errors: [{ pointer: "/name", message: "is taken" }],
    }),
});

/** @throws AppError name_taken */
export async function insertResource(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  row: { readonly id: string; readonly name: string; readonly type: ResourceType; readonly description: string },
  at: Date,
): Promise<void> {
  const { id, name, type, description } = row;
  await withConstraints(nameTaken(name), tx.query(insert, tx.tenantId, id, at, name, type, description));
}

/** @throws AppError name_taken */
export async function updateResource(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  row: Pick<ResourceRow, "id" | "name" | "description" | "load_balancing_mode">,
  at: Date,
): Promise<void> {
  const { id, name, description, load_balancing_mode: mode } = row;
  await withConstraints(nameTaken(name), tx.query(update, tx.tenantId, id, at, name, description, mode));
}

/** Deletes the resource with its addresses and its connections to gateways. */
export async function deleteResource(tx: TenantTx, _granted: Granted<"resources:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

/** Connects the resource to exactly these gateways, in order of priority. */
export async function replaceResourceGateways(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  id: string,
  gatewayIds: readonly string[],
): Promise<void> {
  await tx.query(replaceGateways, tx.tenantId, id, gatewayIds);
}

/** Connects a gateway that is not connected yet, behind the others. The resource and the gateway must be locked. */
export async function connectGateway(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  id: string,
  gatewayId: string,
): Promise<void> {
  await tx.query(connect, tx.tenantId, id, gatewayId);
}

/** @returns whether the gateway was connected until now */
export async function disconnectGateway(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  id: string,
  gatewayId: string,
): Promise<boolean> {
  return (await tx.query(disconnect, tx.tenantId, id, gatewayId)).length > 0;
}
