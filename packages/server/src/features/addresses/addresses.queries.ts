import type { ResourceType } from "@gatehouse/contract/records/address";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { NamedRecord } from "../../platform/record-references.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { repetition } from "./addresses.rules.ts";
import { type AddressJson, addressJson } from "./addresses.view.ts";

/** An address with everything that its record shows, and the resource that owns it. */
export interface WholeAddressRow {
  readonly id: string;
  readonly version: number;
  readonly whole: AddressJson;
  readonly resource_id: string;
  readonly resource_name: string;
  readonly resource_type: ResourceType;
}

/** The columns of an address that commands need before they change it. */
export interface AddressRow {
  readonly id: string;
  readonly version: number;
  readonly resource_id: string;
  /** The type of the resource that owns the address; it never changes. */
  readonly resource_type: ResourceType;
}

const wholeAddress = `item.id, item.version, ${addressJson("item")} AS whole,
    resource.id AS resource_id, resource.name AS resource_name, resource.type AS resource_type
  FROM addresses AS item
  JOIN resources AS resource ON resource.tenant_id = item.tenant_id AND resource.id = item.resource_id`;

const selectMany = statement<WholeAddressRow, [tenantId: string, afterId: string, limit: number]>(
  "addresses.list",
  `SELECT ${wholeAddress} WHERE item.tenant_id = $1 AND item.id > $2 ORDER BY item.id LIMIT $3`,
);
// The ids of the part are found with the index alone.
const selectPart = statement<WholeAddressRow, [tenantId: string, offset: number, limit: number]>(
  "addresses.part",
  `WITH part AS (SELECT id FROM addresses WHERE tenant_id = $1 ORDER BY id OFFSET $2 LIMIT $3)
   SELECT ${wholeAddress} WHERE item.tenant_id = $1 AND item.id IN (SELECT id FROM part) ORDER BY item.id`,
);
const selectCount = statement<{ readonly count: number }, [tenantId: string]>(
  "addresses.count",
  "SELECT count(*)::integer AS count FROM addresses WHERE tenant_id = $1",
);
const selectWhole = statement<WholeAddressRow, [tenantId: string, id: string]>(
  "addresses.read",
  `SELECT ${wholeAddress} WHERE item.tenant_id = $1 AND item.id = $2`,
);
// Locks the address alone. A deletion of its resource deletes the address too, and therefore waits for this lock.
// Locking the resource after the address would be the opposite order, and could deadlock.
const selectForChange = statement<AddressRow, [tenantId: string, id: string]>(
  "addresses.lock",
  `SELECT item.id, item.version, item.resource_id, resource.type AS resource_type
   FROM addresses AS item
   JOIN resources AS resource ON resource.tenant_id = item.tenant_id AND resource.id = item.resource_id
   WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE OF item`,
);
// An address never moves to another resource.
const selectOwnerForChange = statement<never, [tenantId: string, id: string]>(
  "addresses.lock_owner",
  `SELECT FROM resources AS item WHERE item.tenant_id = $1 AND item.id = (
     SELECT resource_id FROM addresses WHERE tenant_id = $1 AND id = $2
   ) FOR NO KEY UPDATE`,
);
const selectPorts = statement<
  { readonly stored: number; readonly added: number },
  [tenantId: string, resourceId: string, protocolIds: readonly string[], uses: readonly number[]]
>(
  "addresses.ports_of_resource",
  `WITH stored AS (
     SELECT used.protocol_id, count(*) AS uses
     FROM addresses AS item
     JOIN address_protocols AS used ON used.tenant_id = item.tenant_id AND used.address_id = item.id
     WHERE item.tenant_id = $1 AND item.resource_id = $2
     GROUP BY used.protocol_id
   ), counted AS (
     SELECT protocol_id, uses AS stored, 0 AS added FROM stored
     UNION ALL
     SELECT changed.id, 0, changed.uses FROM unnest($3::uuid[], $4::integer[]) AS changed (id, uses)
   )
   SELECT coalesce(sum(counted.stored * json_array_length(protocol.network_protocols)), 0)::integer AS stored,
          coalesce(sum(counted.added * json_array_length(protocol.network_protocols)), 0)::integer AS added
   FROM counted
   JOIN protocols AS protocol ON protocol.tenant_id = $1 AND protocol.id = counted.protocol_id`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, "resourceId" uuid, address text, "isIp" boolean,
  "protocolIds" uuid[], "answersWithin" text[])`;
const listed = `unnest(given."protocolIds") WITH ORDINALITY AS listed (id, ordinality)`;
const insert = statement<never, [tenantId: string, at: Date, rows: string]>(
  "addresses.insert",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), inserted AS (
     INSERT INTO addresses (tenant_id, id, created_at, updated_at, resource_id, address, is_ip, answers_within)
     SELECT $1, id, $2, $2, "resourceId", address, "isIp", "answersWithin" FROM given
   )
   INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
   SELECT $1, given.id, listed.id, (listed.ordinality - 1)::smallint FROM given, ${listed}`,
);
const update = statement<never, [tenantId: string, at: Date, rows: string]>(
  "addresses.update",
  `WITH given AS MATERIALIZED (SELECT * FROM ${given}), updated AS (
     UPDATE addresses AS item
     SET updated_at = $2, version = item.version + 1, address = given.address, is_ip = given."isIp",
         answers_within = given."answersWithin"
     FROM given WHERE item.tenant_id = $1 AND item.id = given.id
   ), wanted AS (
     SELECT given.id AS address_id, listed.id AS protocol_id, (listed.ordinality - 1)::smallint AS position
     FROM given, ${listed}
   ), removed AS (
     DELETE FROM address_protocols AS used USING given
     WHERE used.tenant_id = $1 AND used.address_id = given.id AND NOT EXISTS (
       SELECT FROM wanted WHERE wanted.address_id = used.address_id AND wanted.protocol_id = used.protocol_id
     )
   )
   INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
   SELECT $1, address_id, protocol_id, position FROM wanted
   ON CONFLICT (tenant_id, address_id, protocol_id) DO UPDATE SET position = excluded.position`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "addresses.delete",
  "DELETE FROM addresses WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);
const selectWithProtocol = statement<NamedRecord, [tenantId: string, protocolId: string]>(
  "addresses.with_protocol",
  `SELECT item.id, item.address AS name
   FROM address_protocols AS used
   JOIN addresses AS item ON item.tenant_id = used.tenant_id AND item.id = used.address_id
   WHERE used.tenant_id = $1 AND used.protocol_id = $2 ORDER BY item.id LIMIT 50`,
);

/** Addresses that use the protocol, the first 50. */
export function addressesWithProtocol(tx: TenantTx, protocolId: string): Promise<NamedRecord[]> {
  return tx.query(selectWithProtocol, tx.tenantId, protocolId);
}

/** The addresses of all resources with an id above `afterId`, in order of id. */
export function listAddresses(tx: TenantTx, afterId: string, limit: number): Promise<WholeAddressRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

/** Addresses by their position in the order of id, and how many there are. */
export async function listAddressPart(
  tx: TenantTx,
  offset: number,
  limit: number,
): Promise<{ readonly rows: WholeAddressRow[]; readonly total: number }> {
  const [rows, counts] = await Promise.all([
    tx.query(selectPart, tx.tenantId, offset, limit),
    tx.query(selectCount, tx.tenantId),
  ]);
  return { rows, total: counts[0]?.count ?? 0 };
}

export async function readAddress(tx: TenantTx, id: string): Promise<WholeAddressRow | undefined> {
  return (await tx.query(selectWhole, tx.tenantId, id))[0];
}

/** Reads the address. Nobody else can change it, or delete its resource, before the transaction ends. */
export async function lockAddress(tx: TenantTx, id: string): Promise<AddressRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/** Locks the resource of an address. Must run before the address is locked, because deletions lock in this order. */
export async function lockOwner(tx: TenantTx, id: string): Promise<void> {
  await tx.query(selectOwnerForChange, tx.tenantId, id);
}

/**
 * Counts ports and ranges: those of the protocols of a resource's addresses, and those that a change adds.
 *
 * @param changed protocols, and how many more addresses will use each
 */
export async function portsOfResource(
  tx: TenantTx,
  resourceId: string,
  changed: readonly (readonly [protocolId: string, uses: number])[],
): Promise<{ readonly stored: number; readonly added: number }> {
  const [ids, uses] = [changed.map(([id]) => id), changed.map(([, count]) => count)];
  return (await tx.query(selectPorts, tx.tenantId, resourceId, ids, uses))[0] ?? { stored: 0, added: 0 };
}

/** An address as it is written. */
export interface StoredAddress {
  readonly id: string;
  readonly resourceId: string;
  /** The address in canonical form. */
  readonly address: string;
  readonly isIp: boolean;
  /** Existing protocols in their order, each once. */
  readonly protocolIds: readonly string[];
  /** Blocks in canonical form. Null for the default. */
  readonly answersWithin: readonly string[] | null;
}

/**
 * Adds addresses to resources. A resource lists its addresses in the order of their ids.
 *
 * @throws AppError duplicate_address if a resource already has one of them
 */
export async function insertAddresses(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  addresses: readonly StoredAddress[],
  at: Date,
): Promise<void> {
  await withConstraints(
    duplicate(addresses),
    writeInChunks(addresses, (rows) => tx.query(insert, tx.tenantId, at, rows)),
  );
}

/**
 * Updates texts, protocols and limits of answers of locked addresses.
 *
 * @throws AppError duplicate_address if a resource already has one of them
 */
export async function updateAddresses(
  tx: TenantTx,
  _granted: Granted<"addresses:write"> | Granted<"resources:write">,
  addresses: readonly StoredAddress[],
  at: Date,
): Promise<void> {
  await withConstraints(
    duplicate(addresses),
    writeInChunks(addresses, (rows) => tx.query(update, tx.tenantId, at, rows)),
  );
}

const duplicate = (addresses: readonly StoredAddress[]) => ({
  addresses_once_in_resource: () =>
    new AppError("duplicate_address", { errors: [repetition("/address", addresses[0]?.address ?? "")] }),
});

/** Deletes addresses. Because this also changes their resources, either permission is a proof. */
export async function deleteAddresses(
  tx: TenantTx,
  _granted: Granted<"addresses:write"> | Granted<"resources:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}
