/** A whole server over its own embedded PostgreSQL, for benchmarks to call from outside. Prints one line of JSON when ready. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { compose } from "@gatehouse/server/compose";
import { migrate } from "@gatehouse/server/platform/db/migrations";
import { startEmbeddedPostgres } from "@gatehouse/server/platform/embedded-postgres/embedded-postgres";
import { createLog } from "@gatehouse/server/platform/log";
import { benchMasterKey } from "./master-key.ts";

const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
// As root, PostgreSQL runs as another user, who must be able to enter.
await chmod(folder, 0o711);
const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined });
const connection = { ...postgres.connection, ssl: false };
await migrate(connection);
const server = await compose({
  connection,
  poolSize: 10,
  masterKey: benchMasterKey,
  trustedProxies: [],
  // Counted as in use, and never reached.
  rateLimits: { perMinute: 100_000_000, authFailures: 300, shared: false },
  log: createLog("error"),
  consoleFolder: fileURLToPath(new URL("../../packages/console/dist", import.meta.url)),
  setUp: {
    operatorKey: undefined,
    bootstrapApiKey: undefined,
    tenantName: "First tenant",
    ownerEmail: "owner@example.com",
  },
});
const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(
  `${JSON.stringify({ url, operatorKey: server.installation.operatorKey, database: postgres.connection })}\n`,
);

process.once("SIGTERM", async () => {
  await server.close();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});
