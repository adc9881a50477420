/** Reads the audit record forward, for those who tell others of it. */
import type { TargetType } from "@gatehouse/contract/event-types";
import { type EntryRow, entryColumns } from "../../platform/audit/entry.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A place in a tenant's audit record: everything up to this entry, it included, has been read. */
export interface FeedPosition {
  readonly generation: number;
  readonly eventId: string;
}

/** An entry without what changed. */
export interface FeedEntry {
  readonly id: string;
  readonly created_at: string;
  readonly generation: number;
  readonly operation: string;
  readonly target_type: TargetType;
  readonly created: boolean;
  readonly deleted: boolean;
}

// The row of tenant_generations orders a tenant's commands, so whoever sees a generation sees all before it as well.
const selectAfter = statement<FeedEntry, [tenantId: string, generation: number, eventId: string, limit: number]>(
  "event_feed.after",
  `SELECT id, created_at, generation, operation, target_type, before IS NULL AS created, after IS NULL AS deleted
   FROM audit_events WHERE tenant_id = $1 AND (generation, id) > ($2, $3) ORDER BY generation, id LIMIT $4`,
);
const selectOne = statement<EntryRow, [tenantId: string, id: string]>(
  "event_feed.read",
  `SELECT ${entryColumns} FROM audit_events AS item WHERE item.tenant_id = $1 AND item.id = $2`,
);

/** Above every id. */
const highestId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The place after the last entry of a generation. */
export function endOfGeneration(generation: number): FeedPosition {
  return { generation, eventId: highestId };
}

/** The tenant's entries after a place, in the order in which they came to be, at most `limit`. */
export function eventsAfter(tx: TenantTx, position: FeedPosition, limit: number): Promise<FeedEntry[]> {
  return tx.query(selectAfter, tx.tenantId, position.generation, position.eventId, limit);
}

/** @returns undefined when there is none, or it was cleared away */
export async function readEvent(tx: TenantTx, id: string): Promise<EntryRow | undefined> {
  return (await tx.query(selectOne, tx.tenantId, id))[0];
}
