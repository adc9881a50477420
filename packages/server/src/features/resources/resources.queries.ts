import type { ResourceType } from "@gatehouse/contract/records/address";
import type { Protocol } from "@gatehouse/contract/records/protocol";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { givenIdsStatement, type ListSource, pageIds, pageIdsStatement } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import { requireFollowed } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type AddressJson, addressJson, protocolJson } from "../addresses/addresses.api.ts";
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

/** A resource as it is written. */
export interface StoredResource {
  readonly id: string;
  readonly name: string;
  readonly type: ResourceType;
  readonly description: string;
  readonly loadBalancingMode: LoadBalancingMode;
  /** The gateways in order of priority. Undefined leaves them unchanged. */
  readonly gatewayIds?: readonly string[];
}

/** The settings of a resource, as configurations read them. */
export interface ResourceSettingsRow extends Omit<StoredResource, "gatewayIds"> {
  /** Names, in order of priority. */
  readonly gateways: readonly string[];
  readonly addresses: readonly {
    readonly id: string;
    readonly address: string;
    /** Names, in their order. */
    readonly protocols: readonly string[];
    readonly answersWithin: readonly string[] | null;
  }[];
}

const columns = ["id", "created_at", "updated_at", "version", "name", "type", "load_balancing_mode", "description"]
  .map((column) => `item.${column}`)
  .join(", ");

/** @param withToken the SQL of a boolean: whether the caller may see the tokens of gateways */
function wholeResource(withToken: string): string {
  return `${columns},
    (SELECT json_agg(${addressJson("address")} ORDER BY address.id) FROM addresses AS address
     WHERE address.tenant_id = item.tenant_id AND address.resource_id = item.id) AS addresses,
    (SELECT json_agg(${gatewayJson("gateway", withToken)} ORDER BY connected.priority)
     FROM resource_gateways AS connected
     JOIN gateways AS gateway ON gateway.tenant_id = connected.tenant_id AND gateway.id = connected.gateway_id
     WHERE connected.tenant_id = item.tenant_id AND connected.resource_id = item.id) AS gateways`;
}

function listSource(): ListSource {
  const linked = (table: string, column: string) => ({
    value: `linked.${column}`,
    within: (predicate: string) =>
      `EXISTS (SELECT FROM ${table} AS linked
               WHERE linked.tenant_id = item.tenant_id AND linked.resource_id = item.id AND ${predicate})`,
  });
  return {
    table: "resources",
    select: columns,
    columns: {
      id: { value: "item.id" },
      name: { value: "item.name", key: "item.name_key" },
      type: { value: "item.type" },
      isNamedByPolicy: {
        value: `(EXISTS (SELECT FROM policies AS policy
                         WHERE policy.tenant_id = item.tenant_id AND NOT policy.is_default AND policy.all_resources)
          OR EXISTS (SELECT FROM policy_resources AS named
                     WHERE named.tenant_id = item.tenant_id AND named.resource_id = item.id))`,
      },
      "policies.id": linked("policy_resources", "policy_id"),
      "gateways.id": linked("resource_gateways", "gateway_id"),
      "addresses.id": linked("addresses", "id"),
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

export const source = listSource();

const selectGivenIds = givenIdsStatement("lists.resources_given");
// A page embeds the same few gateways and protocols again and again. Each is read once, with the records that use it.
const selectPage = statement<ResourceRow, []>(
  "lists.resources",
  `SELECT ${columns} FROM ${pageIds}
   JOIN resources AS item ON item.tenant_id = current_tenant() AND item.id = page.id ORDER BY page.place`,
);
/** An address that uses a protocol, or none, with the position of the protocol in it. */
type AddressUse = readonly [
  resourceId: string,
  id: string,
  address: string,
  isIp: boolean,
  answersWithin: AddressJson["answers_within"],
  position: number | null,
];
/** Addresses by the protocol that they use, so that no index is searched twice. */
const selectPageAddresses = statement<{ readonly protocol: Protocol | null; readonly uses: readonly AddressUse[] }, []>(
  "lists.resource_addresses",
  `SELECT (SELECT ${protocolJson("protocol")} FROM protocols AS protocol
           WHERE protocol.tenant_id = current_tenant() AND protocol.id = used.protocol_id) AS protocol,
          json_agg(json_build_array(address.resource_id, address.id, address.address, address.is_ip,
                                    address.answers_within, used.position)) AS uses
   FROM ${pageIds}
   JOIN addresses AS address ON address.tenant_id = current_tenant() AND address.resource_id = page.id
   LEFT JOIN address_protocols AS used ON used.tenant_id = current_tenant() AND used.address_id = address.id
   GROUP BY used.protocol_id`,
);
/** `priorities` has the priority of the gateway in each resource. */
const selectPageGateways = (withToken: boolean) =>
  statement<{ readonly gateway: GatewayJson; readonly priorities: Readonly<Record<string, number>> }, []>(
    withToken ? "lists.resource_gateways_with_tokens" : "lists.resource_gateways",
    `SELECT (SELECT ${gatewayJson("gateway", String(withToken))} FROM gateways AS gateway
             WHERE gateway.tenant_id = current_tenant() AND gateway.id = connected.gateway_id) AS gateway,
            json_object_agg(connected.resource_id, connected.priority) AS priorities
     FROM ${pageIds}
     JOIN resource_gateways AS connected ON connected.tenant_id = current_tenant() AND connected.resource_id = page.id
     GROUP BY connected.gateway_id`,
  );
const selectGatewaysOfPage = { withToken: selectPageGateways(true), withoutToken: selectPageGateways(false) };

const selectWhole = statement<WholeResourceRow, [tenantId: string, id: string, withToken: boolean]>(
  "resources.read",
  `SELECT ${wholeResource("$3")} FROM resources AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectForChange = statement<ResourceRow, [tenantId: string, id: string]>(
  "resources.lock",
  `SELECT ${columns} FROM resources AS item WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE`,
);
// One index lookup for each record and each of its names. As joins, PostgreSQL would choose nested loops over whole
// tables when it underestimates them: a tenant that was just filled is not in its statistics. For the same reason,
// parts take the tenant from their record: for a parameter, PostgreSQL may choose an index that has all records of the
// tenant.
const selectAll = statement<ResourceSettingsRow, [tenantId: string]>(
  "resources.read_all",
  `SELECT item.id, item.name, item.type, item.description, item.load_balancing_mode AS "loadBalancingMode",
          coalesce((
            SELECT json_agg((SELECT name FROM gateways WHERE tenant_id = $1 AND id = link.gateway_id)
                            ORDER BY link.priority)
            FROM resource_gateways AS link WHERE link.tenant_id = item.tenant_id AND link.resource_id = item.id
          ), '[]') AS gateways,
          coalesce((
            SELECT json_agg(json_build_object('id', address.id, 'address', address.address,
                                              'answersWithin', address.answers_within, 'protocols', coalesce((
              SELECT json_agg((SELECT name FROM protocols WHERE tenant_id = $1 AND id = link.protocol_id)
                              ORDER BY link.position)
              FROM address_protocols AS link
              WHERE link.tenant_id = address.tenant_id AND link.address_id = address.id
            ), '[]')))
            FROM addresses AS address WHERE address.tenant_id = item.tenant_id AND address.resource_id = item.id
          ), '[]') AS addresses
   FROM resources AS item
   WHERE item.tenant_id = $1`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, type text, description text,
  "loadBalancingMode" text, "gatewayIds" uuid[])`;
const insert = statement<never, [tenantId: string, at: Date, rows: string]>(
  "resources.insert",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), inserted AS (
     INSERT INTO resources (tenant_id, id, created_at, updated_at, name, type, description, load_balancing_mode)
     SELECT $1, id, $2, $2, name, type, description, "loadBalancingMode" FROM given
   )
   INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
   SELECT $1, given.id, listed.id, (listed.ordinality - 1)::smallint
   FROM given, unnest(given."gatewayIds") WITH ORDINALITY AS listed (id, ordinality)`,
);
const update = statement<never, [tenantId: string, at: Date, rows: string]>(
  "resources.update",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), updated AS (
     UPDATE resources AS item
     SET updated_at = $2, version = item.version + 1, name = given.name, description = given.description,
         load_balancing_mode = given."loadBalancingMode"
     FROM given WHERE item.tenant_id = $1 AND item.id = given.id
   ), wanted AS (
     SELECT given.id AS resource_id, listed.id AS gateway_id, (listed.ordinality - 1)::smallint AS priority
     FROM given, unnest(given."gatewayIds") WITH ORDINALITY AS listed (id, ordinality)
   ), removed AS (
     DELETE FROM resource_gateways AS link USING given
     WHERE link.tenant_id = $1 AND link.resource_id = given.id AND given."gatewayIds" IS NOT NULL AND NOT EXISTS (
       SELECT FROM wanted WHERE wanted.resource_id = link.resource_id AND wanted.gateway_id = link.gateway_id
     )
   )
   INSERT INTO resource_gateways (tenant_id, resource_id, gateway_id, priority)
   SELECT $1, resource_id, gateway_id, priority FROM wanted
   ON CONFLICT (tenant_id, resource_id, gateway_id) DO UPDATE SET priority = excluded.priority`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "resources.delete",
  "DELETE FROM resources WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);
// Deleted gateways leave gaps in the priorities. Closing them here keeps priorities within the range of their column.
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
const selectCount = statement<{ count: number }, [tenantId: string, kinds: readonly string[]]>(
  "resources.count",
  "SELECT coalesce(sum(count), 0)::bigint AS count FROM record_counts WHERE tenant_id = $1 AND kind = ANY ($2)",
);

export function readAllResources(tx: TenantTx): Promise<ResourceSettingsRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readResource(
  tx: TenantTx,
  id: string,
  withToken: boolean,
): Promise<WholeResourceRow | undefined> {
  return (await tx.query(selectWhole, tx.tenantId, id, withToken))[0];
}

/** Reads the resource. Nobody else can change it, or refer to it, before the transaction ends. */
export async function lockResource(tx: TenantTx, id: string): Promise<ResourceRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

const everyKind = ["resources:PRIVATE", "resources:SAAS", "resources:INTERNET"];

/** The maintained counts whose sum is the total of a list; undefined if its filters require counting rows. */
function maintainedCounts(query: ListQuery): readonly string[] | undefined {
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
  const kinds = maintainedCounts(query);
  const page = pageIdsStatement(source, query, kinds === undefined);
  const [counts, counted, rows] = await Promise.all([
    kinds === undefined ? [] : tx.query(selectCount, tx.tenantId, kinds),
    tx.query(page.statement, ...page.parameters),
    readPage(tx, withToken),
    requireFollowed(tx, source, query),
  ]);
  return { rows, total: counts[0]?.count ?? counted[0]?.total ?? 0 };
}

/** Reads resources in the order of the ids. The transaction must end then, as after a page. */
export async function readResources(
  tx: TenantTx,
  ids: readonly string[],
  withToken: boolean,
): Promise<WholeResourceRow[]> {
  const [, rows] = await Promise.all([tx.query(selectGivenIds, ids), readPage(tx, withToken)]);
  return rows;
}

/** Reads the resources whose ids are in the setting `app.page`. */
async function readPage(tx: TenantTx, withToken: boolean): Promise<WholeResourceRow[]> {
  const [rows, uses, gateways] = await Promise.all([
    tx.query(selectPage),
    tx.query(selectPageAddresses),
    tx.query(withToken ? selectGatewaysOfPage.withToken : selectGatewaysOfPage.withoutToken),
  ]);
  const addressesOf = addressesByResource(uses);
  const gatewaysOf = new PlacedItems<GatewayJson>();
  for (const { gateway, priorities } of gateways) {
    for (const id in priorities) gatewaysOf.add(id, gateway, priorities[id] ?? 0);
  }
  return rows.map((row) => ({
    ...row,
    addresses: addressesOf.get(row.id) ?? [],
    gateways: gatewaysOf.of(row.id),
  }));
}

function addressesByResource(
  groups: readonly { readonly protocol: Protocol | null; readonly uses: readonly AddressUse[] }[],
): ReadonlyMap<string, AddressJson[]> {
  const protocolsOf = new PlacedItems<Protocol>();
  const known = new Map<string, AddressUse>();
  for (const { protocol, uses } of groups) {
    for (const use of uses) {
      const [, id, , , , position] = use;
      known.set(id, use);
      if (protocol !== null) protocolsOf.add(id, protocol, position ?? 0);
    }
  }
  const addressesOf = new Map<string, AddressJson[]>();
  for (const [resourceId, id, address, is_ip, answers_within] of known.values()) {
    const whole = { id, address, is_ip, answers_within, protocols: protocolsOf.of(id) };
    const others = addressesOf.get(resourceId);
    if (others === undefined) addressesOf.set(resourceId, [whole]);
    else others.push(whole);
  }
  for (const addresses of addressesOf.values()) addresses.sort((a, b) => (a.id < b.id ? -1 : 1));
  return addressesOf;
}

/** Items with their places in the lists of owners. */
class PlacedItems<Item> {
  readonly #lists = new Map<string, { readonly item: Item; readonly place: number }[]>();

  add(owner: string, item: Item, place: number): void {
    const list = this.#lists.get(owner);
    if (list === undefined) this.#lists.set(owner, [{ item, place }]);
    else list.push({ item, place });
  }

  /** The items of an owner in the order of their places. */
  of(owner: string): Item[] {
    return (this.#lists.get(owner) ?? []).sort((a, b) => a.place - b.place).map(({ item }) => item);
  }
}

/** @throws AppError name_taken */
export async function insertResources(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  resources: readonly StoredResource[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { resources_name_unique: () => nameTaken("a resource", resources) },
    writeInChunks(resources, (rows) => tx.query(insert, tx.tenantId, at, rows)),
  );
}

/**
 * Updates resources, except for their types and addresses.
 *
 * @throws AppError name_taken
 */
export async function updateResources(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  resources: readonly StoredResource[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { resources_name_unique: () => nameTaken("a resource", resources) },
    writeInChunks(resources, (rows) => tx.query(update, tx.tenantId, at, rows)),
  );
}

/** Deletes resources with their addresses, their connections to gateways, and their entries in policies. */
export async function deleteResources(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}

/** Connects a further gateway with the lowest priority. The resource and the gateway must be locked. */
export async function connectGateway(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  id: string,
  gatewayId: string,
): Promise<void> {
  await tx.query(connect, tx.tenantId, id, gatewayId);
}

/** @returns whether the gateway was connected */
export async function disconnectGateway(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  id: string,
  gatewayId: string,
): Promise<boolean> {
  return (await tx.query(disconnect, tx.tenantId, id, gatewayId)).length > 0;
}
