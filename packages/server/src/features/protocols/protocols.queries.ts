import type { NetworkProtocol, Protocol } from "@gatehouse/contract/records/protocol";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface ProtocolRow {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly type: Protocol["type"];
  readonly network_protocols: NetworkProtocol[];
}

const columns = "id, version, name, type, network_protocols";

const selectMany = statement<ProtocolRow, [tenantId: string, afterId: string, limit: number]>(
  "protocols.list",
  `SELECT ${columns} FROM protocols WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
);
const selectOne = statement<ProtocolRow, [tenantId: string, id: string]>(
  "protocols.read",
  `SELECT ${columns} FROM protocols WHERE tenant_id = $1 AND id = $2`,
);
const selectForChange = statement<ProtocolRow, [tenantId: string, id: string]>(
  "protocols.lock",
  `SELECT ${columns} FROM protocols WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const insert = statement<ProtocolRow, [tenantId: string, id: string, at: Date, name: string, content: string]>(
  "protocols.insert",
  `INSERT INTO protocols (tenant_id, id, created_at, updated_at, name, type, network_protocols)
   VALUES ($1, $2, $3, $3, $4, 'CUSTOM', $5) RETURNING ${columns}`,
);
const insertUnlessTaken = statement<
  ProtocolRow,
  [tenantId: string, id: string, at: Date, name: string, content: string]
>(
  "protocols.insert_unless_taken",
  `INSERT INTO protocols (tenant_id, id, created_at, updated_at, name, type, network_protocols)
   VALUES ($1, $2, $3, $3, $4, 'CUSTOM', $5) ON CONFLICT (tenant_id, name) DO NOTHING RETURNING ${columns}`,
);
const selectNames = statement<{ name: string }, [tenantId: string, stem: string]>(
  "protocols.names_from_stem",
  "SELECT name FROM protocols WHERE tenant_id = $1 AND starts_with(name, $2)",
);
const remove = statement<never, [tenantId: string, id: string]>(
  "protocols.delete",
  "DELETE FROM protocols WHERE tenant_id = $1 AND id = $2",
);

export function listProtocols(tx: TenantTx, afterId: string, limit: number): Promise<ProtocolRow[]> {
  return tx.query(selectMany, tx.tenantId, afterId, limit);
}

export async function readProtocol(tx: TenantTx, id: string): Promise<ProtocolRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/** Reads the protocol and keeps others from changing or using it until the transaction ends. */
export async function lockProtocol(tx: TenantTx, id: string): Promise<ProtocolRow | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

export interface NewProtocolRow {
  readonly id: string;
  readonly name: string;
  readonly networkProtocols: readonly NetworkProtocol[];
}

/** @throws AppError name_taken */
export async function insertProtocol(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  { id, name, networkProtocols }: NewProtocolRow,
  at: Date,
): Promise<ProtocolRow> {
  const nameTaken = () =>
    new AppError("name_taken", {
      detail: `A protocol is already called ${JSON.stringify(name)}.`,
      errors: [{ pointer: "/name", message: "is taken" }],
    });
  const content = JSON.stringify(networkProtocols);
  const rows = await withConstraints(
    { protocols_name_unique: nameTaken },
    tx.query(insert, tx.tenantId, id, at, name, content),
  );
  return rows[0] as ProtocolRow; // an INSERT that did not throw returns its row
}

/** @returns undefined when the name is taken */
export async function insertProtocolUnlessTaken(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  { id, name, networkProtocols }: NewProtocolRow,
  at: Date,
): Promise<ProtocolRow | undefined> {
  return (await tx.query(insertUnlessTaken, tx.tenantId, id, at, name, JSON.stringify(networkProtocols)))[0];
}

/** The names of protocols that start with a text. */
export async function namesStartingWith(tx: TenantTx, stem: string): Promise<ReadonlySet<string>> {
  return new Set((await tx.query(selectNames, tx.tenantId, stem)).map(({ name }) => name));
}

export async function deleteProtocol(tx: TenantTx, _granted: Granted<"protocols:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}
