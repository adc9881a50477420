import type { Database } from "./database.ts";
import { knownMigrations } from "./migrations.ts";
import { statement } from "./statement.ts";

const selectNewest = statement<{ version: number | null }, []>(
  "readiness.newest_migration",
  "SELECT max(version) AS version FROM schema_migrations",
);

const expected = Math.max(...knownMigrations().map(({ version }) => version));

/**
 * @throws if the database does not answer, or its migrations differ from this program's: fewer after restoring a
 *   backup, more after a newer version has started
 */
export async function requireReady(database: Database): Promise<void> {
  await database.ping();
  const [newest] = await database.snapshot({ kind: "operator" }, (transaction) => transaction.query(selectNewest));
  if (newest?.version !== expected) {
    throw new Error(`the database has migration ${newest?.version ?? "none"}, this version needs ${expected}`);
  }
}
