import type { Database } from "../db/database.ts";
import { statement } from "../db/statement.ts";

/** One command's news: which tenant, its generation, and which records changed. */
export interface OutboxEntry {
  readonly tenantId: string;
  readonly generation: number;
  readonly changes: readonly {
    readonly type: string;
    readonly id: string;
    readonly change: "created" | "updated" | "deleted";
  }[];
}

/**
 * Entries of transactions that had not ended at an earlier look. Ids of transactions are given out before they commit, so
 * "everything after the last one seen" would miss those that commit late; everything since the oldest transaction then
 * running misses none, and may show some twice.
 */
const readSince = statement<OutboxEntry, [transactionId: string]>(
  "outbox.since",
  `SELECT tenant_id AS "tenantId", generation, changes FROM outbox
   WHERE transaction_id >= $1::xid8 ORDER BY transaction_id, generation LIMIT 10000`,
);

const readHorizon = statement<{ horizon: string }, []>(
  "outbox.horizon",
  "SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon",
);

const clearOld = statement<never, [before: Date]>("outbox.clear", "DELETE FROM outbox WHERE created_at < $1");

/** Where an outbox reader stands: the oldest transaction that may still have news. */
export type OutboxPosition = string;

export interface OutboxRead {
  readonly entries: readonly OutboxEntry[];
  readonly position: OutboxPosition;
}

/** @param position undefined starts at the present: no entries, only a position */
export function readOutbox(database: Database, position: OutboxPosition | undefined): Promise<OutboxRead> {
  return database.snapshot({ kind: "operator" }, async (transaction) => {
    const [entries, horizon] = await Promise.all([
      position === undefined ? [] : transaction.query(readSince, position),
      transaction.query(readHorizon),
    ]);
    // One snapshot serves both queries, so nothing can fall between them.
    return { entries, position: horizon[0]?.horizon ?? position ?? "0" };
  });
}

/** Removes entries that every replica has long heard. */
export async function clearOutbox(database: Database, before: Date): Promise<void> {
  await database.transaction({ kind: "operator" }, (transaction) => transaction.query(clearOld, before));
}
