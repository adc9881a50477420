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

/** Entries that one reading takes at most; a reader that far behind starts anew instead. */
export const readLimit = 10_000;

/** How long entries are kept, in milliseconds: far longer than a replica that serves can be behind. */
export const outboxKeptForMs = 60 * 60 * 1000;

/**
 * Entries that a snapshot does not show yet. Ids of transactions are given out before they commit, so "everything after
 * the last one seen" would miss those that commit late; the snapshot knows which ones were still running.
 */
const readSince = statement<OutboxEntry, [snapshot: string, limit: number]>(
  "outbox.since",
  `SELECT tenant_id AS "tenantId", generation, changes FROM outbox
   WHERE transaction_id >= pg_snapshot_xmin($1::pg_snapshot)
     AND NOT pg_visible_in_snapshot(transaction_id, $1::pg_snapshot)
   ORDER BY transaction_id, generation LIMIT $2`,
);

const readSnapshot = statement<{ snapshot: string }, []>(
  "outbox.snapshot",
  "SELECT pg_current_snapshot()::text AS snapshot",
);

const clearOld = statement<never, [before: Date]>("outbox.clear", "DELETE FROM outbox WHERE created_at < $1");

/** Where an outbox reader stands: the snapshot that it last read from, `xmin:xmax:running`. */
export type OutboxPosition = string;

export interface OutboxRead {
  readonly entries: readonly OutboxEntry[];
  readonly position: OutboxPosition;
  /** Whether the entries are all there is since the last position. */
  readonly complete: boolean;
}

/** @param position undefined starts at the present: no entries, only a position */
export async function readOutbox(database: Database, position: OutboxPosition | undefined): Promise<OutboxRead> {
  // One snapshot serves both queries, so nothing can fall between them.
  const [entries, snapshots] = await database.snapshot({ kind: "operator" }, (transaction) =>
    Promise.all([
      position === undefined ? [] : transaction.query(readSince, position, readLimit + 1),
      transaction.query(readSnapshot),
    ]),
  );
  const present = snapshots[0]?.snapshot;
  if (present === undefined) throw new Error("PostgreSQL told no snapshot");
  const complete = entries.length <= readLimit && (position === undefined || !isBefore(present, position));
  return { entries: complete ? entries : [], position: present, complete };
}

/** Whether the database went back in time, as one that was restored from a backup does. */
function isBefore(present: OutboxPosition, earlier: OutboxPosition): boolean {
  return nextTransaction(present) < nextTransaction(earlier);
}

function nextTransaction(snapshot: OutboxPosition): bigint {
  return BigInt(snapshot.split(":")[1] ?? "0");
}

/** Removes entries that every replica has long heard. */
export async function clearOutbox(database: Database, before: Date): Promise<void> {
  await database.transaction({ kind: "operator" }, (transaction) => transaction.query(clearOld, before));
}
