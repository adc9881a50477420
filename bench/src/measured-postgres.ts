/** An embedded PostgreSQL in a temporary folder. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "@gatehouse/embedded-postgres";

/** @param recordsStatements whether it records the time of each statement, which costs some processor time */
export async function startMeasuredPostgres(
  recordsStatements = true,
): Promise<Pick<EmbeddedPostgres, "connection" | "pid" | "stop">> {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
  // If this process is root, PostgreSQL runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const settings: Readonly<Record<string, string>> = recordsStatements
    ? { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track_planning": "on" }
    : {};
  const { connection, pid, stop } = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined, settings });
  return {
    connection,
    pid,
    stop: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
