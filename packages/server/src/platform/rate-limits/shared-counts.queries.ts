/** The counts of all replicas, summed in the database. */
import type { Database } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { WindowCount, WindowCounts } from "./window-counts.ts";

/** Ordered by key, so that replicas that write concurrently do not deadlock. */
const add = statement<
  { name: string; window_start: string; count: number },
  [names: readonly string[], windowStarts: readonly Date[], counts: readonly number[]]
>(
  "rate_counts.add",
  `INSERT INTO rate_counts AS stored (name, window_start, count)
   SELECT name, window_start, count
   FROM unnest($1::text[], $2::timestamptz[], $3::bigint[]) AS counted (name, window_start, count)
   ORDER BY name, window_start
   ON CONFLICT (name, window_start) DO UPDATE SET count = stored.count + excluded.count
   RETURNING name, window_start, count`,
);

const clearOld = statement<never, [startedBefore: Date]>(
  "rate_counts.clear",
  "DELETE FROM rate_counts WHERE window_start < $1",
);

/** How long counts are stored after the start of their window, in milliseconds: longer than any window. */
const retentionMs = 60 * 60 * 1000;

/**
 * Adds this replica's counts to the database and reads the totals of all replicas. Counts that cannot be written are
 * retained.
 */
export async function exchangeCounts(database: Database, counts: WindowCounts): Promise<void> {
  const unshared = counts.takeUnshared();
  if (unshared.length === 0) return;
  try {
    const rows = await database.transaction({ kind: "operator" }, (transaction) =>
      transaction.query(
        add,
        unshared.map(({ name }) => name),
        unshared.map(({ windowStartMs }) => new Date(windowStartMs)),
        unshared.map(({ count }) => count),
      ),
    );
    counts.setShared(rows.map((row): WindowCount => ({ ...row, windowStartMs: Date.parse(row.window_start) })));
  } catch (error) {
    counts.restoreUnshared(unshared);
    throw error;
  }
}

export async function clearSharedCounts(database: Database, now: Date): Promise<void> {
  await database.transaction({ kind: "operator" }, (transaction) =>
    transaction.query(clearOld, new Date(now.getTime() - retentionMs)),
  );
}
