/**
 * The stored state of gateway connections, written in batches of many gateways, never in the transaction of a
 * command. Heartbeats and reports of replicas are stamped with the shared time, so that every replica compares them by
 * the same clock.
 */
import type { Transaction } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import { inFuture, laterTime } from "../../platform/stored-times.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A connection that becomes the current one of its gateway, and the configuration that the gateway enforces. */
export interface LinkClaim {
  readonly gateway_id: string;
  readonly connection_id: string;
  readonly replica_id: string;
  /** SHA-256 of the token that the agent presented, in hexadecimal. */
  readonly token_hash: string;
  /** Null if the gateway enforces nothing. */
  readonly applied_hash: string | null;
  readonly applied_root: string | null;
  readonly applied_generation: number | null;
  readonly applied_issued_at: number | null;
  readonly applied_expires_at: string | null;
}

interface ClaimedRow {
  readonly connection_id: string;
  /** Whether the agent presented the gateway's current token. */
  readonly is_current: boolean;
  /** When a former token expires; null if the token is not a former one. */
  readonly ends_at: string | null;
}

/** The changed state of a connection. Absent fields do not change. Times are ISO 8601. */
export interface ConnectionChange {
  readonly gateway_id: string;
  readonly connection_id: string;
  readonly last_heartbeat?: string;
  readonly disconnected_at?: string;
  readonly load?: number;
  readonly round_trip_time_ms?: number;
  readonly wanted_root?: string;
  readonly wanted_generation?: number;
  readonly wanted_since?: string;
  readonly sent_root?: string;
  readonly sent_generation?: number;
  readonly sent_at?: string;
  readonly applied_hash?: string;
  readonly applied_root?: string;
  readonly applied_generation?: number;
  readonly applied_issued_at?: number;
  readonly applied_expires_at?: string;
  readonly applied_at?: string;
  readonly error?: string;
  readonly warnings?: readonly string[];
}

const claim = statement<ClaimedRow, [tenantId: string, claims: string, at: Date, heardAt: Date]>(
  "gateway_link.claim",
  // A gateway that was deleted meanwhile is skipped, and so are tokens that were revoked since they were presented. If
  // a gateway has several new connections, the last one counts. The desired root is
  // unknown until this replica has compared its own with the root that the gateway enforces.
  `WITH item AS (
     SELECT batch.*, gateway.token_hash = decode(batch.token_hash, 'hex') AS is_current, former.ends_at
     FROM json_to_recordset($2) AS batch (position integer, gateway_id uuid, connection_id uuid, replica_id uuid,
       token_hash text, applied_hash text, applied_root text, applied_generation bigint, applied_issued_at bigint,
       applied_expires_at timestamptz)
     JOIN gateways AS gateway ON gateway.tenant_id = $1 AND gateway.id = batch.gateway_id
     LEFT JOIN former_gateway_tokens AS former ON former.tenant_id = $1 AND former.gateway_id = batch.gateway_id
       AND former.token_hash = decode(batch.token_hash, 'hex')
   ), claimed AS (
   INSERT INTO gateway_links AS link (tenant_id, gateway_id, connection_id, replica_id, connected_at, last_heartbeat, is_watched,
     applied_hash, applied_root, applied_generation, applied_issued_at, applied_expires_at, applied_at)
   SELECT DISTINCT ON (item.gateway_id) $1::uuid, item.gateway_id, item.connection_id, item.replica_id, $3::timestamptz,
     $4::timestamptz, true, item.applied_hash, item.applied_root, item.applied_generation, item.applied_issued_at,
     item.applied_expires_at, CASE WHEN item.applied_hash IS NOT NULL THEN $3::timestamptz END
   FROM item WHERE item.is_current OR item.ends_at > $3
   ORDER BY item.gateway_id, item.position DESC
   ON CONFLICT (tenant_id, gateway_id) DO UPDATE
     SET connection_id = excluded.connection_id, replica_id = excluded.replica_id, connected_at = excluded.connected_at,
         last_heartbeat = excluded.last_heartbeat, is_watched = true, disconnected_at = NULL,
         wanted_root = NULL, wanted_generation = NULL, applied_hash = excluded.applied_hash,
         applied_root = excluded.applied_root, applied_generation = excluded.applied_generation,
         applied_issued_at = excluded.applied_issued_at, applied_expires_at = excluded.applied_expires_at,
         applied_at = CASE WHEN link.applied_hash = excluded.applied_hash THEN link.applied_at ELSE excluded.applied_at END
   )
   SELECT connection_id, is_current, ends_at FROM item`,
);

const kinds = {
  last_heartbeat: "timestamptz",
  disconnected_at: "timestamptz",
  load: "double precision",
  round_trip_time_ms: "double precision",
  wanted_root: "text",
  wanted_generation: "bigint",
  wanted_since: "timestamptz",
  sent_root: "text",
  sent_generation: "bigint",
  sent_at: "timestamptz",
  applied_hash: "text",
  applied_root: "text",
  applied_generation: "bigint",
  applied_issued_at: "bigint",
  applied_expires_at: "timestamptz",
  applied_at: "timestamptz",
  error: "text",
  warnings: "jsonb",
} as const satisfies Record<Exclude<keyof ConnectionChange, "gateway_id" | "connection_id">, string>;

const store = statement<{ gateway_id: string }, [tenantId: string, batch: string]>(
  "gateway_link.store",
  `UPDATE gateway_links AS link
   SET ${Object.keys(kinds)
     .map((column) => `${column} = coalesce(item.${column}, link.${column})`)
     .join(", ")}, is_watched = link.is_watched OR item.last_heartbeat IS NOT NULL
   FROM json_to_recordset($2) AS item (gateway_id uuid, connection_id uuid, ${Object.entries(kinds)
     .map(([column, kind]) => `${column} ${kind}`)
     .join(", ")})
   WHERE link.tenant_id = $1 AND link.gateway_id = item.gateway_id AND link.connection_id = item.connection_id
   RETURNING link.gateway_id`,
);

const storeReplica = statement<never, [tenantId: string, replicaId: string, generation: number, at: Date]>(
  "gateway_link.store_replica",
  `INSERT INTO gateway_link_replicas AS replica (tenant_id, replica_id, generation, updated_at) VALUES ($1, $2, $3, $4)
   ON CONFLICT (tenant_id, replica_id) DO UPDATE SET generation = excluded.generation, updated_at = excluded.updated_at`,
);
const forgetReplica = statement<never, [tenantId: string, replicaId: string]>(
  "gateway_link.forget_replica",
  "DELETE FROM gateway_link_replicas WHERE tenant_id = $1 AND replica_id = $2",
);
const clearReplicas = statement<never, [tenantId: string, reportedBefore: Date]>(
  "gateway_link.clear_replicas",
  "DELETE FROM gateway_link_replicas WHERE tenant_id = $1 AND updated_at < $2",
);

/**
 * Makes the connections whose tokens are valid the current ones of their gateways.
 *
 * @param claims in the order in which the connections were opened
 * @param heardAt the shared time
 * @returns when the token of each connection expires, in milliseconds since 1970: Infinity for a current token, 0 for a
 *   revoked one. Connections of deleted gateways are absent.
 */
export async function claimLinks(
  tx: TenantTx,
  claims: readonly LinkClaim[],
  at: Date,
  heardAt: Date,
): Promise<ReadonlyMap<string, number>> {
  const batch = claims.map((item, position) => ({ ...item, position }));
  const rows = await tx.query(claim, tx.tenantId, JSON.stringify(batch), at, heardAt);
  const endOf = ({ is_current: isCurrent, ends_at: endsAt }: ClaimedRow) =>
    isCurrent ? Number.POSITIVE_INFINITY : endsAt === null ? 0 : Date.parse(endsAt);
  return new Map(rows.map((row) => [row.connection_id, endOf(row)]));
}

/** @returns the gateways whose change was stored; the others have a later connection, or were deleted */
export async function storeConnectionChanges(
  tx: TenantTx,
  batch: readonly ConnectionChange[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.query(store, tx.tenantId, JSON.stringify(batch));
  return new Set(rows.map(({ gateway_id: id }) => id));
}

/** Records that a replica has offered its gateways the content of a generation. */
export async function storeReplicaGeneration(
  tx: TenantTx,
  replicaId: string,
  generation: number,
  at: Date,
): Promise<void> {
  await tx.query(storeReplica, tx.tenantId, replicaId, generation, at);
}

export async function forgetReplicaGeneration(tx: TenantTx, replicaId: string): Promise<void> {
  await tx.query(forgetReplica, tx.tenantId, replicaId);
}

/** Deletes replicas that have not reported since a time. */
export async function clearReplicaGenerations(tx: TenantTx, reportedBefore: Date): Promise<void> {
  await tx.query(clearReplicas, tx.tenantId, reportedBefore);
}

export interface HeardGateway {
  readonly id: string;
  readonly at: string;
}

/** The fields of a gateway's record that its reports change. */
export interface ReportedGateway {
  readonly id: string;
  readonly status: string;
  readonly error: string;
  readonly deployed_on: string | null;
  readonly last_online: string | null;
  readonly public_key: string;
  readonly agent_version: string;
  readonly reported_endpoint: string;
}

const touchGateways = statement<ReportedGateway, [tenantId: string, heard: string, now: Date]>(
  "gateway_link.touch_gateways",
  // Rows that a command has locked are left to the next batch: commands and batches must not deadlock.
  `UPDATE gateways AS item SET last_online = ${laterTime("item.last_online", "heard.at", "$3")}
   FROM (
     SELECT free.id, batch.at FROM json_to_recordset($2) AS batch (id uuid, at timestamptz)
     JOIN gateways AS free ON free.tenant_id = $1 AND free.id = batch.id
     ORDER BY free.id FOR NO KEY UPDATE OF free SKIP LOCKED
   ) AS heard
   WHERE item.tenant_id = $1 AND item.id = heard.id
   RETURNING item.id, item.status, item.error, item.deployed_on, item.last_online, item.public_key, item.agent_version,
     item.reported_endpoint`,
);

/** Stores when gateways were last heard, without a new version. @returns the rows that were not locked */
export function touchHeardGateways(
  tx: TenantTx,
  heard: readonly HeardGateway[],
  now: Date,
): Promise<ReportedGateway[]> {
  return tx.query(touchGateways, tx.tenantId, JSON.stringify(heard), now);
}

export interface Handshake {
  readonly device_id: string;
  readonly gateway_id: string;
  readonly at: string;
}

const storeDeviceLinks = statement<never, [tenantId: string, handshakes: string]>(
  "gateway_link.store_devices",
  `INSERT INTO device_links AS link (tenant_id, device_id, gateway_id, last_handshake)
   SELECT $1, item.device_id, item.gateway_id, item.at
   FROM json_to_recordset($2) AS item (device_id uuid, gateway_id uuid, at timestamptz)
   JOIN devices AS device ON device.tenant_id = $1 AND device.id = item.device_id
   ORDER BY item.device_id
   ON CONFLICT (tenant_id, device_id) DO UPDATE
     SET gateway_id = excluded.gateway_id, last_handshake = excluded.last_handshake
     WHERE coalesce(link.last_handshake <= excluded.last_handshake, true)`,
);
const touchDevices = statement<
  { user_id: string | null; last_connection: string },
  [tenantId: string, handshakes: string]
>(
  "gateway_link.touch_devices",
  `UPDATE devices AS item SET last_connection = greatest(item.last_connection, handshakes.at)
   FROM (
     SELECT free.id, batch.at FROM json_to_recordset($2) AS batch (device_id uuid, at timestamptz)
     JOIN devices AS free ON free.tenant_id = $1 AND free.id = batch.device_id
     ORDER BY free.id FOR NO KEY UPDATE OF free SKIP LOCKED
   ) AS handshakes
   WHERE item.tenant_id = $1 AND item.id = handshakes.id RETURNING item.user_id, item.last_connection`,
);
const touchUsers = statement<never, [tenantId: string, handshakes: string]>(
  "gateway_link.touch_users",
  `UPDATE users AS item SET last_connection = greatest(item.last_connection, handshakes.at)
   FROM (
     SELECT free.id, batch.at FROM json_to_recordset($2) AS batch (id uuid, at timestamptz)
     JOIN users AS free ON free.tenant_id = $1 AND free.id = batch.id
     ORDER BY free.id FOR NO KEY UPDATE OF free SKIP LOCKED
   ) AS handshakes
   WHERE item.tenant_id = $1 AND item.id = handshakes.id`,
);

export async function storeHandshakes(tx: TenantTx, handshakes: readonly Handshake[]): Promise<void> {
  await tx.query(storeDeviceLinks, tx.tenantId, JSON.stringify(handshakes));
}

/** Stores when devices were last connected. @returns when their users were last connected */
export async function touchConnectedDevices(
  tx: TenantTx,
  handshakes: readonly Handshake[],
): Promise<ReadonlyMap<string, string>> {
  const users = new Map<string, string>();
  for (const { user_id: id, last_connection: at } of await tx.query(
    touchDevices,
    tx.tenantId,
    JSON.stringify(handshakes),
  )) {
    if (id !== null && (users.get(id) ?? "") < at) users.set(id, at);
  }
  return users;
}

export async function touchConnectedUsers(tx: TenantTx, users: ReadonlyMap<string, string>): Promise<void> {
  await tx.query(touchUsers, tx.tenantId, JSON.stringify(Array.from(users, ([id, at]) => ({ id, at }))));
}

const selectTenantsToCheck = statement<{ tenant_id: string }, [heardBefore: Date, now: Date]>(
  "gateway_link.tenants_to_check",
  `SELECT DISTINCT tenant_id FROM gateway_links
   WHERE is_watched AND (last_heartbeat < $1 OR ${inFuture("last_heartbeat", "$2")})`,
);
const selectSilent = statement<{ gateway_id: string }, [tenantId: string, heardBefore: Date, limit: number]>(
  "gateway_link.silent",
  `SELECT gateway_id FROM gateway_links WHERE tenant_id = $1 AND is_watched AND last_heartbeat < $2
   ORDER BY last_heartbeat LIMIT $3`,
);
const unwatch = statement<never, [tenantId: string, ids: readonly string[], heardBefore: Date]>(
  "gateway_link.unwatch",
  // The status depends on the gateway's record, which more than heartbeats update. If the record is later, keep
  // watching.
  `UPDATE gateway_links AS link
   SET is_watched = coalesce(item.last_online >= $3, false), last_heartbeat = greatest(link.last_heartbeat, item.last_online)
   FROM gateways AS item
   WHERE link.tenant_id = $1 AND link.gateway_id = ANY ($2::uuid[]) AND link.last_heartbeat < $3
     AND item.tenant_id = link.tenant_id AND item.id = link.gateway_id`,
);

const selectInFuture = statement<{ gateway_id: string }, [tenantId: string, now: Date, limit: number]>(
  "gateway_link.in_future",
  `SELECT gateway_id FROM gateway_links
   WHERE tenant_id = $1 AND is_watched AND ${inFuture("last_heartbeat", "$2")} LIMIT $3`,
);
const resetLinks = resetOf("gateway_link.reset_future", "gateway_links", "gateway_id", "last_heartbeat");
const resetGateways = resetOf("gateway_link.reset_future_gateways", "gateways", "id", "last_online");

/** Sets times in the future to the current one. Rows that another transaction has locked are left to the next check. */
function resetOf(name: string, table: string, id: string, time: string) {
  return statement<never, [tenantId: string, ids: readonly string[], now: Date]>(
    name,
    `UPDATE ${table} AS item SET ${time} = $3
     FROM (
       SELECT ${id} FROM ${table}
       WHERE tenant_id = $1 AND ${id} = ANY ($2::uuid[]) AND ${inFuture(time, "$3")}
       ORDER BY ${id} FOR NO KEY UPDATE SKIP LOCKED
     ) AS free
     WHERE item.tenant_id = $1 AND item.${id} = free.${id}`,
  );
}

/**
 * Finds the tenants with gateways to check. Their last heartbeat is in the future, or it is earlier than `heardBefore`
 * and their silence is not recorded yet.
 */
export async function tenantsToCheck(tx: Transaction, heardBefore: Date, now: Date): Promise<readonly string[]> {
  return (await tx.query(selectTenantsToCheck, heardBefore, now)).map(({ tenant_id: id }) => id);
}

/** Sets heartbeats in the future to the current time, so that silence is counted from now. */
export async function resetFutureHeartbeats(tx: TenantTx, now: Date, limit: number): Promise<void> {
  const ids = (await tx.query(selectInFuture, tx.tenantId, now, limit)).map(({ gateway_id: id }) => id);
  if (ids.length === 0) return;
  await tx.query(resetLinks, tx.tenantId, ids, now);
  await tx.query(resetGateways, tx.tenantId, ids, now);
}

/** Finds gateways of one tenant that were last heard before a time, and whose silence is not recorded yet. */
export async function silentGateways(tx: TenantTx, heardBefore: Date, limit: number): Promise<readonly string[]> {
  return (await tx.query(selectSilent, tx.tenantId, heardBefore, limit)).map(({ gateway_id: id }) => id);
}

/** Records that the silence of gateways was detected. A gateway that was heard meanwhile stays watched. */
export async function unwatchGateways(tx: TenantTx, ids: readonly string[], heardBefore: Date): Promise<void> {
  await tx.query(unwatch, tx.tenantId, ids, heardBefore);
}
