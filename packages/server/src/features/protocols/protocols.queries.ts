import type { NetworkProtocol, Protocol } from "@gatehouse/contract/records/protocol";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import { nameTaken } from "../../platform/name-taken.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface ProtocolRow {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly type: Protocol["type"];
  readonly network_protocols: NetworkProtocol[];
}

/** A custom protocol as it is written. */
export interface StoredProtocol {
  readonly id: string;
  readonly name: string;
  readonly networkProtocols: readonly NetworkProtocol[];
}

/** The settings of a protocol, as configurations read them. */
export interface ProtocolSettingsRow extends StoredProtocol {
  readonly type: Protocol["type"];
}

const columns = ["id", "version", "name", "type", "network_protocols"].map((column) => `item.${column}`).join(", ");

const selectMany = statement<ProtocolRow, [tenantId: string, afterId: string, limit: number]>(
  "protocols.list",
  `SELECT ${columns} FROM protocols AS item WHERE item.tenant_id = $1 AND item.id > $2 ORDER BY item.id LIMIT $3`,
);
const selectAll = statement<ProtocolSettingsRow, [tenantId: string]>(
  "protocols.read_all",
  `SELECT id, name, type, network_protocols AS "networkProtocols" FROM protocols WHERE tenant_id = $1`,
);
const selectOne = statement<ProtocolRow, [tenantId: string, id: string]>(
  "protocols.read",
  `SELECT ${columns} FROM protocols AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectForChange = statement<ProtocolRow, [tenantId: string, id: string]>(
  "protocols.lock",
  `SELECT ${columns} FROM protocols AS item WHERE item.tenant_id = $1 AND item.id = $2 FOR UPDATE`,
);
const selectNames = statement<{ name: string }, [tenantId: string, stem: string]>(
  "protocols.names_from_stem",
  "SELECT name FROM protocols WHERE tenant_id = $1 AND starts_with(name, $2)",
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, "networkProtocols" json)`;
const insert = statement<ProtocolRow, [tenantId: string, at: Date, rows: string]>(
  "protocols.insert",
  `INSERT INTO protocols AS item (tenant_id, id, created_at, updated_at, name, type, network_protocols)
   SELECT $1, id, $2, $2, name, 'CUSTOM', "networkProtocols" FROM ${given}
   ON CONFLICT (tenant_id, name) DO NOTHING RETURNING ${columns}`,
);
const update = statement<never, [tenantId: string, at: Date, rows: string]>(
  "protocols.update",
  `UPDATE protocols AS item
   SET updated_at = $2, version = item.version + 1, network_protocols = given."networkProtocols"
   FROM ${given} WHERE item.tenant_id = $1 AND item.id = given.id AND item.type = 'CUSTOM'`,
);
const remove = statement<never, [tenantId: string, ids: readonly string[]]>(
  "protocols.delete",
  "DELETE FROM protocols WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND type = 'CUSTOM'",
);

export function listProtocols(tx: TenantTx, afterId: string, limit: number): Promise<ProtocolRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export function readAllProtocols(tx: TenantTx): Promise<ProtocolSettingsRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readProtocol(tx: TenantTx, id: string): Promise<ProtocolRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the protocol. Nobody else can change or use it before the transaction ends. */
export async function lockProtocol(tx: TenantTx, id: string): Promise<ProtocolRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/** The names of protocols that start with a text. */
export async function namesStartingWith(tx: TenantTx, stem: string): Promise<ReadonlySet<string>> {
  return new Set((await tx.query(selectNames, tx.tenantId, stem)).map(({ name }) => name));
}

/** @throws AppError name_taken */
export async function insertProtocols(
  tx: TenantTx,
  granted: Granted<"protocols:write">,
  protocols: readonly StoredProtocol[],
  at: Date,
): Promise<ProtocolRow[]> {
  const inserted = await insertProtocolsUnlessTaken(tx, granted, protocols, at);
  if (inserted.length === protocols.length) return inserted;
  const ids = new Set(inserted.map(({ id }) => id));
  throw nameTaken(
    "a protocol",
    protocols.filter(({ id }) => !ids.has(id)),
  );
}

/** @returns the protocols whose names were free */
export function insertProtocolsUnlessTaken(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  protocols: readonly StoredProtocol[],
  at: Date,
): Promise<ProtocolRow[]> {
  return writeInChunks(protocols, (rows) => tx.query(insert, tx.tenantId, at, rows));
}

/** Updates custom protocols, except for their names. */
export async function updateProtocols(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  protocols: readonly StoredProtocol[],
  at: Date,
): Promise<void> {
  await writeInChunks(protocols, (rows) => tx.query(update, tx.tenantId, at, rows));
}

/** Deletes custom protocols that no address uses. */
export async function deleteProtocols(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(remove, tx.tenantId, ids);
}
