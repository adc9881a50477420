import type { ResourceType } from "@gatehouse/contract/records/address";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import { newId } from "../../platform/ids.ts";
import type { NamedRecord } from "../../platform/record-references.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type CanonicalAddress, repetition } from "./addresses.rules.ts";
import { type AddressJson, addressJson } from "./addresses.view.ts";

/** An address with what its record shows, and the resource that owns it. */
export interface WholeAddressRow {
  readonly id: string;
  readonly version: number;
  readonly whole: AddressJson;
  readonly resource_id: string;
  readonly resource_name: string;
  readonly resource_type: ResourceType;
}

/** The address's own columns, as far as a change of it needs them. */
export interface AddressRow {
  readonly id: string;
  readonly version: number;
  readonly resource_id: string;
  /** Of the resource that owns it; it never changes. */
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
const selectWhole = statement<WholeAddressRow, [tenantId: string, id: string]>(
  "addresses.read",
  `SELECT ${wholeAddress} WHERE item.tenant_id = $1 AND item.id = $2`,
);
// Only the address is locked. Deleting its resource takes the address with it, and so waits for us; locking the resource
// after the address would be the opposite order to that, and a deadlock.
const selectForChange = statement<AddressRow, [tenantId: string, id: string]>(
  "addresses.lock",
  `SELECT item.id, item.version, item.resource_id, resource.type AS resource_type
   FROM addresses AS item
   JOIN resources AS resource ON resource.tenant_id = item.tenant_id AND resource.id = item.resource_id
   WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE OF item`,
);
const update = statement<never, [tenantId: string, id: string, at: Date, text: string, isIp: boolean]>(
  "addresses.update",
  `UPDATE addresses SET updated_at = $3, version = version + 1, address = $4, is_ip = $5
   WHERE tenant_id = $1 AND id = $2`,
);
const remove = statement<never, [tenantId: string, id: string]>(
  "addresses.delete",
  "DELETE FROM addresses WHERE tenant_id = $1 AND id = $2",
);
const replaceProtocols = statement<never, [tenantId: string, id: string, protocolIds: readonly string[]]>(
  "addresses.replace_protocols",
  `WITH wanted AS (
     SELECT id, (ordinality - 1)::smallint AS position FROM unnest($3::uuid[]) WITH ORDINALITY AS listed (id, ordinality)
   ), gone AS (
     DELETE FROM address_protocols
     WHERE tenant_id = $1 AND address_id = $2 AND protocol_id NOT IN (SELECT id FROM wanted)
   )
   INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
   SELECT $1, $2, id, position FROM wanted
   ON CONFLICT (tenant_id, address_id, protocol_id) DO UPDATE SET position = excluded.position`,
);

const insertMany = statement<
  never,
  [
    tenantId: string,
    resourceId: string,
    at: Date,
    ids: readonly string[],
    texts: readonly string[],
    isIp: readonly boolean[],
  ]
>(
  "addresses.insert",
  `INSERT INTO addresses (tenant_id, id, created_at, updated_at, resource_id, address, is_ip)
   SELECT $1, made.id, $3, $3, $2, made.address, made.is_ip
   FROM unnest($4::uuid[], $5::text[], $6::boolean[]) AS made (id, address, is_ip)`,
);

const insertProtocols = statement<
  never,
  [tenantId: string, addressIds: readonly string[], protocolIds: readonly string[], positions: readonly number[]]
>(
  "addresses.insert_protocols",
  `INSERT INTO address_protocols (tenant_id, address_id, protocol_id, position)
   SELECT $1, used.address_id, used.protocol_id, used.position
   FROM unnest($2::uuid[], $3::uuid[], $4::smallint[]) AS used (address_id, protocol_id, position)`,
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

/** Addresses of all resources with an id above `afterId`, in order of id. */
export function listAddresses(tx: TenantTx, afterId: string, limit: number): Promise<WholeAddressRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export async function readAddress(tx: TenantTx, id: string): Promise<WholeAddressRow | undefined> {
  return (await tx.query(selectWhole, tx.tenantId, id))[0];
}

/** Reads the address and keeps others from changing it, or deleting its resource, until the transaction ends. */
export async function lockAddress(tx: TenantTx, id: string): Promise<AddressRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/**
 * Changes an address that is locked.
 *
 * @throws AppError duplicate_address when its resource has another one with this text
 */
export async function updateAddress(
  tx: TenantTx,
  _granted: Granted<"addresses:write">,
  id: string,
  { text, isIp, protocols }: NewAddress,
  at: Date,
): Promise<void> {
  const repeated = () => new AppError("duplicate_address", { errors: [repetition("/address", text)] });
  await withConstraints({ addresses_once_in_resource: repeated }, tx.query(update, tx.tenantId, id, at, text, isIp));
  await tx.query(replaceProtocols, tx.tenantId, id, protocols);
}

/** Taking an address from its resource is a change of the resource too, hence the second permission. */
export async function deleteAddress(
  tx: TenantTx,
  _granted: Granted<"addresses:write"> | Granted<"resources:write">,
  id: string,
): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

export interface NewAddress extends CanonicalAddress {
  /** Ids that are known to exist, each once. */
  readonly protocols: readonly string[];
}

/**
 * Gives a resource addresses, in the order of their ids afterwards. The caller has made sure that the protocols exist.
 *
 * @returns the ids, in the order of the addresses
 * @throws AppError duplicate_address when the resource has one of them already
 */
export async function insertAddresses(
  tx: TenantTx,
  _granted: Granted<"resources:write">,
  resourceId: string,
  addresses: readonly NewAddress[],
  at: Date,
): Promise<readonly string[]> {
  if (addresses.length === 0) return [];
  const ids = addresses.map(() => newId());
  const uses = addresses.flatMap(({ protocols }, index) =>
    protocols.map((protocolId, position) => ({ addressId: ids[index] ?? "", protocolId, position })),
  );
  const texts = addresses.map(({ text }) => text);
  const isIp = addresses.map((address) => address.isIp);
  const repeated = () => new AppError("duplicate_address", { errors: [repetition("/address", texts[0] ?? "")] });
  const inserting = Promise.all([
    tx.query(insertMany, tx.tenantId, resourceId, at, ids, texts, isIp),
    tx.query(
      insertProtocols,
      tx.tenantId,
      uses.map(({ addressId }) => addressId),
      uses.map(({ protocolId }) => protocolId),
      uses.map(({ position }) => position),
    ),
  ]);
  await withConstraints({ addresses_once_in_resource: repeated }, inserting);
  return ids;
}
