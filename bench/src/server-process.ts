/**
 * A complete server that benchmarks call from outside. It uses an embedded PostgreSQL of its own, or the one that its
 * standard input describes. It prints one line of JSON when it is ready.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "@gatehouse/embedded-postgres";
import { compose } from "@gatehouse/server/compose";
import { acceptQueueLength } from "@gatehouse/server/http/app";
import { migrate } from "@gatehouse/server/platform/db/migrations";
import { createLog } from "@gatehouse/server/platform/log";
import { benchMasterKey } from "./master-key.ts";

const given = await text(process.stdin);
const postgres = given === "" ? await startPostgres() : { connection: JSON.parse(given), stop: async () => undefined };
const connection = { ...postgres.connection, ssl: false };
await migrate(connection);
const server = await compose({
  connection,
  poolSize: 10,
  masterKey: benchMasterKey,
  trustedProxies: [],
  // Requests are counted as in production, but the limit is never reached.
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
const url = await server.app.listen({ host: "127.0.0.1", port: 0, backlog: acceptQueueLength });
process.stdout.write(
  `${JSON.stringify({ url, operatorKey: server.installation.operatorKey, database: postgres.connection })}\n`,
);

process.once("SIGTERM", async () => {
  await server.close();
  await postgres.stop();
});

async function startPostgres() {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
  // If this process is root, PostgreSQL runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const { connection, stop } = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined });
  return {
    connection,
    stop: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
