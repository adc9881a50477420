import type { Transaction } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import { inFuture } from "../../platform/stored-times.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** An observation of the address that a device's packets or its connection come from. */
export interface SeenSource {
  readonly device_id: string;
  /** Null for an observation of the control plane. */
  readonly gateway_id: string | null;
  /** The address in canonical form. */
  readonly source_address: string;
  /** ISO 8601. */
  readonly seen_at: string;
}

/** A stored observation that may change which address counts. */
export interface ChangedSource extends SeenSource {
  readonly tenant_id: string;
  readonly changed_at: string;
}

const isOvertaken = `EXISTS (
  SELECT FROM device_gateway_sources AS own
  WHERE own.tenant_id = link.tenant_id AND own.device_id = link.device_id AND own.seen_at >= link.source_seen_at)`;
const store = statement<SeenSource, [tenantId: string, seen: string, now: Date]>(
  "device_source.store",
  // The latest observation counts. An unchanged address that counts everywhere is written once a minute.
  `INSERT INTO device_links AS link (tenant_id, device_id, source_address, source_seen_at, source_changed_at)
   SELECT $1, item.device_id, item.source_address, item.seen_at, clock_timestamp()
   FROM json_to_recordset($2) AS item (device_id uuid, source_address text, seen_at timestamptz)
   JOIN devices AS device ON device.tenant_id = $1 AND device.id = item.device_id
   ORDER BY item.device_id
   ON CONFLICT (tenant_id, device_id) DO UPDATE
     SET source_address = excluded.source_address, source_seen_at = excluded.source_seen_at,
         source_changed_at = CASE WHEN link.source_address = excluded.source_address AND NOT ${isOvertaken}
                                  THEN link.source_changed_at ELSE clock_timestamp() END
     WHERE coalesce(${inFuture("link.source_seen_at", "$3")}, true)
       OR (link.source_seen_at <= excluded.source_seen_at
           AND (link.source_address <> excluded.source_address OR ${isOvertaken}
                OR link.source_seen_at < excluded.source_seen_at - interval '1 minute'))
   RETURNING device_id, NULL AS gateway_id, source_address, source_seen_at AS seen_at`,
);
const storeOfGateways = statement<SeenSource, [tenantId: string, seen: string, now: Date]>(
  "device_source.store_of_gateways",
  `INSERT INTO device_gateway_sources AS own
     (tenant_id, device_id, gateway_id, source_address, seen_at, changed_at)
   SELECT $1, item.device_id, item.gateway_id, item.source_address, item.seen_at, clock_timestamp()
   FROM json_to_recordset($2) AS item (device_id uuid, gateway_id uuid, source_address text, seen_at timestamptz)
   JOIN devices AS device ON device.tenant_id = $1 AND device.id = item.device_id
   JOIN gateways AS gateway ON gateway.tenant_id = $1 AND gateway.id = item.gateway_id
   ORDER BY item.device_id, item.gateway_id
   ON CONFLICT (tenant_id, device_id, gateway_id) DO UPDATE
     SET source_address = excluded.source_address, seen_at = excluded.seen_at, changed_at = excluded.changed_at
     WHERE own.seen_at < excluded.seen_at OR ${inFuture("own.seen_at", "$3")}
       OR (own.seen_at = excluded.seen_at AND own.source_address <> excluded.source_address)
   RETURNING device_id, gateway_id, source_address, seen_at`,
);

const resetFutureTimes = statement<never, [tenantId: string, deviceIds: readonly string[], now: Date]>(
  "device_source.reset_future",
  // Locked rows are left to the next observation. The time of the change makes all replicas read the rows.
  `UPDATE device_links AS link SET source_seen_at = 'epoch', source_changed_at = clock_timestamp()
   FROM (
     SELECT device_id FROM device_links
     WHERE tenant_id = $1 AND device_id = ANY ($2::uuid[]) AND ${inFuture("source_seen_at", "$3")}
     FOR NO KEY UPDATE SKIP LOCKED
   ) AS free
   WHERE link.tenant_id = $1 AND link.device_id = free.device_id`,
);
const resetFutureTimesOfGateways = statement<
  never,
  [tenantId: string, deviceIds: readonly string[], now: Date, seen: string]
>(
  "device_source.reset_future_of_gateways",
  `UPDATE device_gateway_sources AS own SET seen_at = 'epoch', changed_at = clock_timestamp()
   FROM (
     SELECT device_id, gateway_id FROM device_gateway_sources
     WHERE tenant_id = $1 AND device_id = ANY ($2::uuid[]) AND ${inFuture("seen_at", "$3")}
       AND (device_id, gateway_id) NOT IN (
         SELECT item.device_id, item.gateway_id FROM json_to_recordset($4) AS item (device_id uuid, gateway_id uuid))
     FOR NO KEY UPDATE SKIP LOCKED
   ) AS free
   WHERE own.tenant_id = $1 AND own.device_id = free.device_id AND own.gateway_id = free.gateway_id`,
);

const selectNow = statement<{ at: string }, []>("device_source.now", "SELECT now() AS at");
const selectChanged = statement<
  ChangedSource,
  [tenantIds: readonly string[], at: string, afterTenantId: string, afterDeviceId: string, limit: number]
>(
  "device_source.changed",
  `SELECT tenant_id, device_id, NULL AS gateway_id, source_address, source_seen_at AS seen_at,
     source_changed_at AS changed_at
   FROM device_links
   WHERE (source_changed_at, tenant_id, device_id) > ($2, $3, $4) AND tenant_id = ANY ($1::uuid[])
     AND source_seen_at IS NOT NULL
   ORDER BY source_changed_at, tenant_id, device_id LIMIT $5`,
);
const selectChangedOfGateways = statement<
  ChangedSource,
  [
    tenantIds: readonly string[],
    at: string,
    afterTenantId: string,
    afterDeviceId: string,
    afterGatewayId: string,
    limit: number,
  ]
>(
  "device_source.changed_of_gateways",
  `SELECT tenant_id, device_id, gateway_id, source_address, seen_at, changed_at FROM device_gateway_sources
   WHERE (changed_at, tenant_id, device_id, gateway_id) > ($2, $3, $4, $5) AND tenant_id = ANY ($1::uuid[])
   ORDER BY changed_at, tenant_id, device_id, gateway_id LIMIT $6`,
);

/**
 * Stores observations. Future-dated observations of these devices by other observers get the time 1970, so that any
 * later one supersedes them.
 *
 * @returns the observations that are the latest of their observers
 */
export async function storeSources(tx: TenantTx, seen: readonly SeenSource[], now: Date): Promise<SeenSource[]> {
  const ofGateways = seen.filter(({ gateway_id }) => gateway_id !== null);
  const own = seen.filter(({ gateway_id }) => gateway_id === null);
  const stored = [
    ...(own.length === 0 ? [] : await tx.query(store, tx.tenantId, JSON.stringify(own), now)),
    ...(ofGateways.length === 0 ? [] : await tx.query(storeOfGateways, tx.tenantId, JSON.stringify(ofGateways), now)),
  ];
  const connected = new Set(own.map(({ device_id }) => device_id));
  const reported = new Set(ofGateways.map(({ device_id }) => device_id));
  const others = [...reported].filter((id) => !connected.has(id));
  if (others.length > 0) await tx.query(resetFutureTimes, tx.tenantId, others, now);
  const devices = [...new Set([...connected, ...reported])];
  await tx.query(resetFutureTimesOfGateways, tx.tenantId, devices, now, JSON.stringify(ofGateways));
  return stored;
}

/** The database's time, ISO 8601. */
export async function databaseTime(tx: Transaction): Promise<string> {
  return (await tx.query(selectNow))[0]?.at ?? "";
}

/** A position in the order of changes: the rows after it follow. */
export type SourceCursor = Pick<ChangedSource, "tenant_id" | "device_id" | "gateway_id" | "changed_at">;

/** Reads changed observations of the control plane or, if the cursor names a gateway, of gateways. */
export function changedSources(
  tx: Transaction,
  tenantIds: readonly string[],
  { changed_at, tenant_id, device_id, gateway_id }: SourceCursor,
  limit: number,
): Promise<ChangedSource[]> {
  if (gateway_id === null) return tx.query(selectChanged, tenantIds, changed_at, tenant_id, device_id, limit);
  return tx.query(selectChangedOfGateways, tenantIds, changed_at, tenant_id, device_id, gateway_id, limit);
}
