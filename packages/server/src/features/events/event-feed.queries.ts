/** Reads the audit record forward, for subscribers such as webhooks. */
import type { TargetType } from "@gatehouse/contract/event-types";
import { type EntryRow, entryColumns } from "../../platform/audit/entry.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A position in a tenant's audit record. Everything up to and including this entry was read. */
export interface FeedPosition {
  readonly generation: number;
  readonly eventId: string;
}

/** An entry without its changes. */
export interface FeedEntry {
  readonly id: string;
  readonly created_at: string;
  readonly generation: number;
  readonly operation: string;
  readonly target_type: TargetType;
  readonly created: boolean;
  readonly deleted: boolean;
}

// The row of tenant_generations serializes the commits of a tenant: a reader of one generation sees all earlier ones.
const selectAfter = statement<FeedEntry, [tenantId: string, generation: number, eventId: string, limit: number]>(
  "event_feed.after",
  `SELECT id, created_at, generation, operation, target_type, before IS NULL AS created, after IS NULL AS deleted
   FROM audit_events WHERE tenant_id = $1 AND (generation, id) > ($2, $3) ORDER BY generation, id LIMIT $4`,
);
const selectOne = statement<EntryRow, [tenantId: string, id: string]>(
  "event_feed.read",
  `SELECT ${entryColumns} FROM audit_events AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);
const selectOneUpTo = statement<EntryRow, [tenantId: string, id: string, bytes: number]>(
  "event_feed.read_up_to",
  `SELECT ${entryColumns} FROM audit_events AS item WHERE item.tenant_id = $1 AND item.id = $2
     AND coalesce(octet_length(item.before::text), 0) + coalesce(octet_length(item.after::text), 0) <= $3`,
);
const selectExistence = statement<{ id: string }, [tenantId: string, id: string]>(
  "event_feed.exists",
  "SELECT id FROM audit_events WHERE tenant_id = $1 AND id = $2",
);

/** Greater than every id. */
const highestId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The position after the last entry of a generation. */
export function endOfGeneration(generation: number): FeedPosition {
  return { generation, eventId: highestId };
}

/** The tenant's entries after a position in commit order, at most `limit`. */
export function eventsAfter(tx: TenantTx, position: FeedPosition, limit: number): Promise<FeedEntry[]> {
  return tx.query(selectAfter, tx.tenantId, position.generation, position.eventId, limit);
}

/** @returns undefined if the entry does not exist or was pruned */
export async function readEvent(tx: TenantTx, id: string): Promise<EntryRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}

/**
 * @param bytes the maximum size of the states before and after, which the database measures
 * @returns undefined if the entry is larger, does not exist or was pruned
 */
export async function readEventUpTo(tx: TenantTx, id: string, bytes: number): Promise<EntryRow | undefined> {
  return (await tx.query(selectOneUpTo, tx.tenantId, id, bytes))[0];
}

/** @returns false if the entry does not exist or was pruned */
export async function hasEvent(tx: TenantTx, id: string): Promise<boolean> {
  return (await tx.query(selectExistence, tx.tenantId, id)).length > 0;
}
