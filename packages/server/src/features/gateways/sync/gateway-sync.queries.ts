/** What every replica can see of what gateways enforce. */
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

export interface SyncRow {
  readonly id: string;
  /** Null before its first link. */
  readonly wanted_root: string | null;
  readonly wanted_generation: number | null;
  readonly wanted_since: string | null;
  readonly sent_root: string | null;
  readonly sent_generation: number | null;
  readonly sent_at: string | null;
  readonly applied_root: string | null;
  readonly applied_generation: number | null;
  readonly applied_at: string | null;
  readonly applied_expires_at: string | null;
  readonly error: string | null;
  /** Of its last heartbeat. */
  readonly warnings: readonly string[] | null;
  readonly last_heartbeat: string | null;
  readonly disconnected_at: string | null;
  /** Up to which generation its replica has told its gateways what is wanted; null where no replica holds it. */
  readonly told_generation: number | null;
  readonly told_at: string | null;
}

const select = `SELECT item.id, link.wanted_root, link.wanted_generation, link.wanted_since, link.sent_root, link.sent_generation,
    link.sent_at, link.applied_root, link.applied_generation, link.applied_at, link.applied_expires_at, link.error, link.warnings,
    link.last_heartbeat, link.disconnected_at, replica.generation AS told_generation, replica.updated_at AS told_at
  FROM gateways AS item
  LEFT JOIN gateway_links AS link ON link.tenant_id = item.tenant_id AND link.gateway_id = item.id
  LEFT JOIN gateway_link_replicas AS replica
    ON replica.tenant_id = item.tenant_id AND replica.replica_id = link.replica_id
  WHERE item.tenant_id = $1`;
const selectAll = statement<SyncRow, [tenantId: string]>("gateways.sync_all", `${select} ORDER BY item.id`);
const selectOne = statement<SyncRow, [tenantId: string, id: string]>("gateways.sync", `${select} AND item.id = $2`);

export function readSyncOfAll(tx: TenantTx): Promise<SyncRow[]> {
  return tx.query(selectAll, tx.tenantId);
}

export async function readSync(tx: TenantTx, id: string): Promise<SyncRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}
