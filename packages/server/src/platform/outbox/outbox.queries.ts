import type { Database } from "../db/database.ts";
import { statement } from "../db/statement.ts";

/** The changes of one command: the tenant, its generation, and the changed records. */
export interface OutboxEntry {
  readonly tenantId: string;
  readonly generation: number;
  readonly changes: readonly {
    readonly type: string;
    readonly id: string;
    readonly change: "created" | "updated" | "deleted";
  }[];
}

/** The most entries per read. A reader that is further behind starts again from the current position. */
export const readLimit = 10_000;

/** How long entries are retained, in milliseconds: much longer than a working replica can be behind. */
export const outboxKeptForMs = 60 * 60 * 1000;

/**
 * Entries that a snapshot does not show yet. PostgreSQL assigns transaction ids before the commit, so reading
 * "everything after the last id" would miss late commits. The snapshot lists the transactions that were still running.
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

const clearOld = statement<never, [createdBefore: Date]>("outbox.clear", "DELETE FROM outbox WHERE created_at < $1");

/** The position of an outbox reader: its last snapshot, `xmin:xmax:running`. */
export type OutboxPosition = string;

export interface OutboxRead {
  readonly entries: readonly OutboxEntry[];
  readonly position: OutboxPosition;
  /** Whether the entries are all entries since the last position. */
  readonly complete: boolean;
}

/** @param position undefined to start at the current position, which returns only a position and no entries */
export async function readOutbox(database: Database, position: OutboxPosition | undefined): Promise<OutboxRead> {
  // Both queries use one snapshot, so no entry is lost between them.
  const [entries, snapshots] = await database.snapshot({ kind: "operator" }, (transaction) =>
    Promise.all([
      position === undefined ? [] : transaction.query(readSince, position, readLimit + 1),
      transaction.query(readSnapshot),
    ]),
  );
  const current = snapshots[0]?.snapshot;
  if (current === undefined) throw new Error("PostgreSQL returned no snapshot");
  const complete = entries.length <= readLimit && (position === undefined || !isBefore(current, position));
  return { entries: complete ? entries : [], position: current, complete };
}

/** Whether the database went back in time, for example because a backup was restored. */
function isBefore(current: OutboxPosition, earlier: OutboxPosition): boolean {
  return nextTransaction(current) < nextTransaction(earlier);
}

function nextTransaction(snapshot: OutboxPosition): bigint {
  return BigInt(snapshot.split(":")[1] ?? "0");
}

/** Deletes old entries, which every replica has read. */
export async function clearOutbox(database: Database, createdBefore: Date): Promise<void> {
  await database.transaction({ kind: "operator" }, (transaction) => transaction.query(clearOld, createdBefore));
}
