import { randomBytes } from "node:crypto";
import { newId } from "../ids.ts";
import type { Database } from "./database.ts";
import { newestMigration } from "./migrations.ts";
import { statement } from "./statement.ts";

const selectNewest = statement<{ version: number | null }, []>(
  "readiness.newest_migration",
  "SELECT max(version) AS version FROM schema_migrations",
);

const selectReadOnly = statement<{ read_only: boolean }, []>(
  "readiness.read_only",
  "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS read_only",
);

const insertProbe = statement<never, [id: string, payload: Buffer]>(
  "readiness.insert_probe",
  "INSERT INTO write_probes (id, payload) VALUES ($1, $2)",
);
const deleteProbe = statement<never, [id: string]>("readiness.delete_probe", "DELETE FROM write_probes WHERE id = $1");

/** The size of a probe in bytes: more than the free space of a page. */
const probeBytes = 64 * 1024;

const expected = newestMigration();

/**
 * @throws if the database does not answer or cannot be written, or if its migrations differ from this program's: fewer
 *   after restoring a backup, more after a newer version has started
 */
export async function requireReady(database: Database): Promise<void> {
  const [mode] = await database.ask(selectReadOnly);
  if (mode?.read_only === true) throw new Error("the database is read-only");
  const [newest] = await database.snapshot({ kind: "operator" }, (transaction) => transaction.query(selectNewest));
  if (newest?.version !== expected) {
    throw new Error(`the database has migration ${newest?.version ?? "none"}, this version needs ${expected}`);
  }
  // Writing on each check would cost space in the write-ahead log.
  if (database.writesFail) await probeWriting(database);
}

/** Writes and deletes a row. Success clears `writesFail`. */
async function probeWriting(database: Database): Promise<void> {
  const id = newId();
  const scope = { kind: "operator" } as const;
  await database.transaction(scope, ({ query }) => query(insertProbe, id, randomBytes(probeBytes)));
  await database.transaction(scope, ({ query }) => query(deleteProbe, id));
}
