/** An embedded PostgreSQL that records the time of each statement. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "@gatehouse/embedded-postgres";

export async function startMeasuredPostgres(): Promise<Pick<EmbeddedPostgres, "connection" | "stop">> {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
  // If this process is root, PostgreSQL runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const settings = { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track_planning": "on" };
  const { connection, stop } = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined, settings });
  return {
    connection,
    stop: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
