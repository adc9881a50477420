/** Shares the counts of rate limits between replicas, if enabled. */
import type { BackgroundTask } from "../platform/background-task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { clearSharedCounts, exchangeCounts } from "../platform/rate-limits/shared-counts.queries.ts";
import type { WindowCounts } from "../platform/rate-limits/window-counts.ts";

/** The interval at which replicas exchange counts, in milliseconds. */
const exchangeIntervalMs = 1_000;
const clearingIntervalMs = 10 * 60_000;

/** @param limits by name; undefined for a disabled limit */
export function sharedCountTasks(
  database: Database,
  clock: Clock,
  limits: Readonly<Record<string, { readonly counts: WindowCounts } | undefined>>,
): BackgroundTask[] {
  const exchanges = Object.entries(limits).flatMap(([name, limit]) =>
    limit === undefined
      ? []
      : [
          {
            name: `shared-counts-of-${name}`,
            intervalMs: exchangeIntervalMs,
            run: () => exchangeCounts(database, limit.counts),
          },
        ],
  );
  const retention = {
    name: "shared-count-retention",
    intervalMs: clearingIntervalMs,
    run: () => clearSharedCounts(database, clock.now()),
  };
  return [...exchanges, retention];
}
