/** All protocols of a tenant, and many at once: for configurations, which are read and written as a whole. */
import type { NetworkProtocol, Protocol } from "@gatehouse/contract/records/protocol";
import type { Granted } from "../../platform/authorization/granted.ts";
import { writeInChunks } from "../../platform/db/in-chunks.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface BulkProtocol {
  readonly id: string;
  readonly name: string;
  readonly networkProtocols: readonly NetworkProtocol[];
}

export interface BulkProtocolRow extends BulkProtocol {
  readonly type: Protocol["type"];
}

const selectAll = statement<BulkProtocolRow, [tenantId: string]>(
  "protocols.read_all",
  `SELECT id, name, type, network_protocols AS "networkProtocols" FROM protocols WHERE tenant_id = $1`,
);
const given = `json_to_recordset($3::json) AS given (id uuid, name text, "networkProtocols" json)`;
const insertMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "protocols.insert_many",
  `INSERT INTO protocols (tenant_id, id, created_at, updated_at, name, type, network_protocols)
   SELECT $1, id, $2, $2, name, 'CUSTOM', "networkProtocols" FROM ${given}`,
);
const updateMany = statement<never, [tenantId: string, at: Date, rows: string]>(
  "protocols.update_many",
  `UPDATE protocols SET updated_at = $2, version = version + 1, network_protocols = given."networkProtocols"
   FROM ${given} WHERE protocols.tenant_id = $1 AND protocols.id = given.id AND protocols.type = 'CUSTOM'`,
);
const deleteMany = statement<never, [tenantId: string, ids: readonly string[]]>(
  "protocols.delete_many",
  "DELETE FROM protocols WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) AND type = 'CUSTOM'",
);

export function readAllProtocols(tx: TenantTx): Promise<BulkProtocolRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

/** Their names must be free. */
export function insertProtocols(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  protocols: readonly BulkProtocol[],
  at: Date,
): Promise<void> {
  return writeInChunks(protocols, (rows) => tx.query(insertMany, tx.tenantId, at, rows));
}

/** Everything but their names. */
export function updateProtocols(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  protocols: readonly BulkProtocol[],
  at: Date,
): Promise<void> {
  return writeInChunks(protocols, (rows) => tx.query(updateMany, tx.tenantId, at, rows));
}

/** No address may use them any more. */
export async function deleteProtocols(
  tx: TenantTx,
  _granted: Granted<"protocols:write">,
  ids: readonly string[],
): Promise<void> {
  await tx.query(deleteMany, tx.tenantId, ids);
}
