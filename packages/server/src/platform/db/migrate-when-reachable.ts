import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../log.ts";
import { StartError } from "../start-error.ts";
import type { Connection } from "./database.ts";
import { isDatabaseUnavailable } from "./database-errors.ts";
import { placeOfDatabase } from "./database-url.ts";
import { MigrationError, migrate } from "./migrations.ts";
import { connectionOf } from "./primary-locator.ts";
import { requireOwnSessions } from "./session-settings.ts";

/** The time that a database may need to start, in milliseconds, because containers start in any order. */
const defaultWaitMs = 30_000;
const retryAfterMs = 1_000;

/** A database that does not answer, and the reason. */
export interface DatabaseWait {
  /** The location of the database, without secrets. */
  readonly database: string;
  readonly reason: string;
}

/** Called while the start waits for the database: for each new reason, and without one when the database answers. */
export type OnDatabaseWait = (wait: DatabaseWait | undefined) => void;

/**
 * Applies the migrations to an external database, and waits for the database for a limited time.
 *
 * @param waitMs how long to wait for a database that does not answer, in milliseconds
 * @param connection the connection settings of the URL
 * @param onWait notified of the wait
 * @returns the names of the migrations that were applied now
 * @throws StartError, MigrationError; the reason of the signal if it is aborted
 */
export async function migrateWhenReachable(
  databaseUrl: string,
  log: Log,
  signal: AbortSignal,
  waitMs = defaultWaitMs,
  connection: Connection = connectionOf(databaseUrl),
  onWait: OnDatabaseWait = () => {},
): Promise<readonly string[]> {
  const deadline = performance.now() + waitMs;
  const database = placeOfDatabase(databaseUrl);
  let loggedReason: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      await requireOwnSessions(connection);
      if (loggedReason !== undefined) onWait(undefined);
      return await migrate(connection);
    } catch (error) {
      if (error instanceof MigrationError || error instanceof StartError) throw error;
      const reason = reasonOf(error);
      if (!isDatabaseUnavailable(error)) {
        const remedy =
          "Check the user, the password, the database's name and the TLS parameters in GATEHOUSE_DATABASE_URL.";
        throw new StartError(`The database at ${database} refuses Gatehouse: ${reason}`, remedy, { cause: error });
      }
      if (performance.now() > deadline) {
        const remedy = "Start the database, or correct the host, port and name in GATEHOUSE_DATABASE_URL.";
        throw new StartError(`The database at ${database} cannot be reached: ${reason}`, remedy, { cause: error });
      }
      if (reason !== loggedReason) {
        log.warn({ database, reason }, "the database does not answer yet; trying again");
        onWait({ database, reason });
      }
      loggedReason = reason;
      await pause(retryAfterMs, undefined, { signal });
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
