/** What agents report of gateways, as far as their records show it. */
import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import type { Heartbeat } from "../gateways.rules.ts";

export interface ReportedRow extends Heartbeat {
  readonly id: string;
  readonly status: GatewayStatus;
  readonly public_key: string;
  readonly agent_version: string;
  readonly reported_endpoint: string;
}

const lock = statement<ReportedRow, [tenantId: string, ids: readonly string[]]>(
  "gateways.lock_reported",
  // Not FOR UPDATE: whoever only refers to these gateways need not wait.
  `SELECT id, status, error, deployed_on, last_online, public_key, agent_version, reported_endpoint
   FROM gateways WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
const store = statement<never, [tenantId: string, rows: string]>(
  "gateways.store_reported",
  `UPDATE gateways AS item
   SET status = news.status, error = news.error, deployed_on = news.deployed_on, last_online = news.last_online,
     public_key = news.public_key, agent_version = news.agent_version, reported_endpoint = news.reported_endpoint
   FROM json_to_recordset($2) AS news (id uuid, status text, error text, deployed_on timestamptz, last_online timestamptz,
                                       public_key text, agent_version text, reported_endpoint text)
   WHERE item.tenant_id = $1 AND item.id = news.id`,
);

/** Those of the gateways that there are; they do not change until the transaction ends. */
export function lockReported(tx: TenantTx, ids: readonly string[]): Promise<ReportedRow[]> {
  return tx.query(lock, tx.tenantId, ids);
}

/** Versions stay: no report makes a write stale. */
export async function storeReported(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  rows: readonly ReportedRow[],
): Promise<void> {
  await tx.query(store, tx.tenantId, JSON.stringify(rows));
}
