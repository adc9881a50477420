/** Reports of gateway agents, as far as the records of gateways show them. */
import type { LinkToken } from "@gatehouse/agent-protocol/link/key-proof";
import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import type { Granted } from "../../../platform/authorization/granted.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { KeyColumns } from "../../../platform/known-keys.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import type { Heartbeat } from "../gateways.rules.ts";

export interface ReportedRow extends Heartbeat, KeyColumns {
  readonly id: string;
  readonly status: GatewayStatus;
  readonly agent_version: string;
  readonly reported_endpoint: string;
}

const lock = statement<ReportedRow, [tenantId: string, ids: readonly string[]]>(
  "gateways.lock_reported",
  // Not FOR UPDATE: transactions that only refer to these gateways need not wait.
  `SELECT id, status, error, deployed_on, last_online, public_key, key_proved, key_reset_until, agent_version,
     reported_endpoint
   FROM gateways WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
const store = statement<never, [tenantId: string, rows: string]>(
  "gateways.store_reported",
  `UPDATE gateways AS item
   SET status = news.status, error = news.error, deployed_on = news.deployed_on, last_online = news.last_online,
     public_key = news.public_key, key_proved = news.key_proved, key_reset_until = news.key_reset_until,
     agent_version = news.agent_version, reported_endpoint = news.reported_endpoint
   FROM json_to_recordset($2) AS news (id uuid, status text, error text, deployed_on timestamptz, last_online timestamptz,
                                       public_key text, key_proved boolean, key_reset_until timestamptz,
                                       agent_version text, reported_endpoint text)
   WHERE item.tenant_id = $1 AND item.id = news.id`,
);

/** Reads the gateways that exist. Nobody else can change them before the transaction ends. */
export function lockReported(tx: TenantTx, ids: readonly string[]): Promise<ReportedRow[]> {
  return tx.query(lock, tx.tenantId, ids);
}

/** Stores reports. Versions do not change, so a report does not make a concurrent write stale. */
export async function storeReported(
  tx: TenantTx,
  _granted: Granted<"gateways:write">,
  rows: readonly ReportedRow[],
): Promise<void> {
  await tx.query(store, tx.tenantId, JSON.stringify(rows));
}

/** A token that an agent presented for a gateway. */
export interface PresentedToken {
  readonly gatewayId: string;
  /** SHA-256, in hexadecimal. */
  readonly tokenHash: string;
}

const selectTokens = statement<
  { id: string; token: LinkToken | null },
  [tenantId: string, presented: string, at: Date]
>(
  "gateways.presented_tokens",
  `SELECT item."gatewayId" AS id,
     CASE
       WHEN EXISTS (
         SELECT FROM gateways AS gateway
         WHERE gateway.tenant_id = $1 AND gateway.id = item."gatewayId"
           AND gateway.token_hash = decode(item."tokenHash", 'hex')) THEN 'current'
       WHEN EXISTS (
         SELECT FROM former_gateway_tokens AS former
         WHERE former.tenant_id = $1 AND former.gateway_id = item."gatewayId"
           AND former.token_hash = decode(item."tokenHash", 'hex') AND former.ends_at > $3) THEN 'former'
     END AS token
   FROM json_to_recordset($2) AS item ("gatewayId" uuid, "tokenHash" text)`,
);

/** Returns the state of each presented token, by gateway; null: the token is no longer valid. */
export async function presentedTokens(
  tx: TenantTx,
  presented: readonly PresentedToken[],
  at: Date,
): Promise<ReadonlyMap<string, LinkToken | null>> {
  const rows = await tx.query(selectTokens, tx.tenantId, JSON.stringify(presented), at);
  return new Map(rows.map(({ id, token }) => [id, token]));
}

export interface KeyOwner {
  readonly id: string;
  readonly public_key: string;
}

const selectGatewaysWithKeys = statement<KeyOwner, [tenantId: string, keys: readonly string[]]>(
  "gateways.with_keys",
  "SELECT id, public_key FROM gateways WHERE tenant_id = $1 AND public_key = ANY ($2::text[])",
);
const selectOwners = statement<KeyOwner, [tenantId: string, keys: readonly string[]]>(
  "gateways.key_owners",
  `SELECT id, public_key FROM gateways WHERE tenant_id = $1 AND public_key = ANY ($2::text[])
   UNION ALL SELECT id, public_key FROM devices WHERE tenant_id = $1 AND public_key = ANY ($2::text[])`,
);

export function gatewaysWithKeys(tx: TenantTx, keys: readonly string[]): Promise<KeyOwner[]> {
  return tx.query(selectGatewaysWithKeys, tx.tenantId, keys);
}

/** Returns the gateways and devices that have one of these keys. */
export function ownersOfKeys(tx: TenantTx, keys: readonly string[]): Promise<KeyOwner[]> {
  return tx.query(selectOwners, tx.tenantId, keys);
}

const selectConnected = statement<{ gateway_id: string }, [tenantId: string, refused: string, since: Date]>(
  "gateways.connected_elsewhere",
  `SELECT link.gateway_id FROM gateway_links AS link
   JOIN json_to_recordset($2) AS item ("gatewayId" uuid, "connectionId" uuid) ON item."gatewayId" = link.gateway_id
   WHERE link.tenant_id = $1 AND link.connection_id <> item."connectionId" AND link.disconnected_at IS NULL
     AND link.last_heartbeat >= $3`,
);

/** Returns the gateways that have another connection, which was heard since a time. */
export async function connectedElsewhere(
  tx: TenantTx,
  refused: readonly { readonly gatewayId: string; readonly connectionId: string }[],
  since: Date,
): Promise<ReadonlySet<string>> {
  const rows = await tx.query(selectConnected, tx.tenantId, JSON.stringify(refused), since);
  return new Set(rows.map(({ gateway_id: id }) => id));
}
