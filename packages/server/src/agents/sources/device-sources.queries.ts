import type { Transaction } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** An observation of the address that a device's packets or its connection come from. */
export interface SeenSource {
  readonly device_id: string;
  /** The address in canonical form. */
  readonly source_address: string;
  /** ISO 8601. */
  readonly seen_at: string;
}

export interface StoredSource {
  readonly device_id: string;
  readonly source_address: string;
}

/** A device whose address changed. */
export interface ChangedSource extends StoredSource {
  readonly tenant_id: string;
  readonly source_changed_at: string;
}

const store = statement<StoredSource, [tenantId: string, seen: string]>(
  "device_source.store",
  // The latest observation counts. An unchanged address is written once a minute.
  `INSERT INTO device_links AS link (tenant_id, device_id, source_address, source_seen_at, source_changed_at)
   SELECT $1, item.device_id, item.source_address, item.seen_at, clock_timestamp()
   FROM json_to_recordset($2) AS item (device_id uuid, source_address text, seen_at timestamptz)
   JOIN devices AS device ON device.tenant_id = $1 AND device.id = item.device_id
   ORDER BY item.device_id
   ON CONFLICT (tenant_id, device_id) DO UPDATE
     SET source_address = excluded.source_address, source_seen_at = excluded.source_seen_at,
         source_changed_at = CASE WHEN link.source_address = excluded.source_address THEN link.source_changed_at
                                  ELSE clock_timestamp() END
     WHERE link.source_address = ''
        OR coalesce(link.source_seen_at, link.last_handshake) <= excluded.source_seen_at
       AND (link.source_address <> excluded.source_address
            OR coalesce(link.source_seen_at, link.last_handshake) < excluded.source_seen_at - interval '1 minute')
   RETURNING device_id, source_address`,
);

const selectNow = statement<{ at: string }, []>("device_source.now", "SELECT now() AS at");
const selectChanged = statement<
  ChangedSource,
  [tenantIds: readonly string[], at: string, afterTenantId: string, afterDeviceId: string, limit: number]
>(
  "device_source.changed",
  `SELECT tenant_id, device_id, source_address, source_changed_at FROM device_links
   WHERE (source_changed_at, tenant_id, device_id) > ($2, $3, $4) AND tenant_id = ANY ($1::uuid[])
   ORDER BY source_changed_at, tenant_id, device_id LIMIT $5`,
);

/** @returns the observations that are the latest of their devices */
export function storeSources(tx: TenantTx, seen: readonly SeenSource[]): Promise<StoredSource[]> {
  return tx.query(store, tx.tenantId, JSON.stringify(seen));
}

/** The database's time, ISO 8601. */
export async function databaseTime(tx: Transaction): Promise<string> {
  return (await tx.query(selectNow))[0]?.at ?? "";
}

/** A position in the order of changes: the rows after it follow. */
export type SourceCursor = Pick<ChangedSource, "tenant_id" | "device_id" | "source_changed_at">;

export function changedSources(
  tx: Transaction,
  tenantIds: readonly string[],
  after: SourceCursor,
  limit: number,
): Promise<ChangedSource[]> {
  return tx.query(selectChanged, tenantIds, after.source_changed_at, after.tenant_id, after.device_id, limit);
}
