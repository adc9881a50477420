/** Opens the configured database: an external one, or the embedded one, which is started. */
import { DataFolderInUseError, runningPostgres, startEmbeddedPostgres } from "@gatehouse/embedded-postgres";
import type { Config } from "./config.ts";
import type { Connection } from "./platform/db/database.ts";
import { migrateWhenReachable, type OnDatabaseWait } from "./platform/db/migrate-when-reachable.ts";
import { migrate } from "./platform/db/migrations.ts";
import { connectionOf } from "./platform/db/primary-locator.ts";
import type { Log } from "./platform/log.ts";

export interface OpenDatabase {
  readonly connection: Connection;
  /** The migrations that were applied at this start. */
  readonly applied: readonly string[];
  stop(): Promise<void>;
}

/**
 * Opens the database and applies the migrations. Throws the errors of startGatehouse.
 *
 * @param onWait notified while an external database cannot be reached. With it, the wait has no limit
 */
export async function openDatabase(
  config: Config,
  log: Log,
  signal: AbortSignal,
  onWait?: OnDatabaseWait,
): Promise<OpenDatabase> {
  const { databaseUrl } = config;
  if (databaseUrl !== undefined) {
    const connection = connectionOf(databaseUrl);
    const waitMs = onWait === undefined ? undefined : Number.POSITIVE_INFINITY;
    const applied = await migrateWhenReachable(databaseUrl, log, signal, waitMs, connection, onWait);
    return { connection, applied, stop: async () => {} };
  }
  const opened = await open(config, log);
  try {
    return { ...opened, applied: await migrate(opened.connection) };
  } catch (error) {
    await opened.stop();
    throw error;
  }
}

/** Opens the database without migrating it, for commands, with or without a running server. */
export async function openUnmigrated(config: Config, log: Log): Promise<Pick<OpenDatabase, "connection" | "stop">> {
  try {
    return await open(config, log);
  } catch (error) {
    if (!(error instanceof DataFolderInUseError)) throw error;
    return { connection: { ...(await runningPostgres(config.dataDir)), ssl: false }, stop: async () => {} };
  }
}

async function open({ databaseUrl, dataDir }: Config, log: Log): Promise<Pick<OpenDatabase, "connection" | "stop">> {
  if (databaseUrl !== undefined) return { connection: connectionOf(databaseUrl), stop: async () => {} };
  const postgres = await startEmbeddedPostgres({ dataDir, log: ({ level, message }) => log[level](message) });
  return { connection: { ...postgres.connection, ssl: false }, stop: () => postgres.stop() };
}
