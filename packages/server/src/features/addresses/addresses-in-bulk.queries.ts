/** Addresses of many resources at once: for configurations, which are written as a whole. */
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface BulkAddress {
  /** For an address that is new. */
  readonly id: string;
  readonly resourceId: string;
  readonly address: string;
  readonly isIp: boolean;
  /** In their order, each once. */
  readonly protocolIds: readonly string[];
}

export interface GoneAddress {
  readonly resourceId: string;
  readonly address: string;
}

const given = `json_to_recordset($3::json) AS given (id uuid, "resourceId" uuid, address text, "isIp" boolean,
  "protocolIds" uuid[])`;
const listed = `unnest(given."protocolIds") WITH ORDINALITY AS listed (id, place)`;

const insertMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "addresses.insert_many",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), made AS (
     INSERT INTO addresses (tenant_id, id, created_at, updated_at, resource_id, address, is_ip)
     SELECT $1, id, $2, $2, "resourceId", address, "isIp" FROM given
   )
   INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
   SELECT $1, given.id, listed.id, (listed.place - 1)::smallint FROM given, ${listed}`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "addresses.update_many",
  `WITH given AS MATERIALIZED (
     SELECT address.id, given."protocolIds" FROM ${given}
     JOIN addresses AS address ON address.tenant_id = $1 AND address.resource_id = given."resourceId"
                              AND address.address = given.address
   ), changed AS (
     UPDATE addresses SET updated_at = $2, version = version + 1
     FROM given WHERE addresses.tenant_id = $1 AND addresses.id = given.id
   ), wanted AS (
     SELECT given.id AS address_id, listed.id AS protocol_id, (listed.place - 1)::smallint AS position FROM given, ${listed}
   ), gone AS (
     DELETE FROM address_protocols AS used USING given
     WHERE used.tenant_id = $1 AND used.address_id = given.id AND NOT EXISTS (
       SELECT FROM wanted WHERE wanted.address_id = used.address_id AND wanted.protocol_id = used.protocol_id
     )
   )
   INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
   SELECT $1, address_id, protocol_id, position FROM wanted
   ON CONFLICT (tenant_id, address_id, protocol_id) DO UPDATE SET position = excluded.position`,
);
const deleteMany = statement<never, [tenantId: string, rows: string]>(
  "addresses.delete_many",
  `DELETE FROM addresses USING json_to_recordset($2::json) AS gone ("resourceId" uuid, address text)
   WHERE addresses.tenant_id = $1 AND addresses.resource_id = gone."resourceId" AND addresses.address = gone.address`,
);

/** Gives resources further addresses. */
export function insertAddressesInBulk(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  addresses: readonly BulkAddress[],
  at: Date,
): Promise<void> {
  return writeInChunks(addresses, (rows) => tx.query(insertMany, tx.tenantId, at, rows));
}

/** Gives addresses, found by resource and text, other protocols. */
export function updateAddressesInBulk(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  addresses: readonly BulkAddress[],
  at: Date,
): Promise<void> {
  return writeInChunks(addresses, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** Takes addresses away from their resources. */
export function deleteAddressesInBulk(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  addresses: readonly GoneAddress[],
): Promise<void> {
  return writeInChunks(addresses, (rows) => tx.query(deleteMany, tx.tenantId, rows));
}
