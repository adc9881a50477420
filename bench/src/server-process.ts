/**
 * A complete server that benchmarks call from outside. It uses its own embedded PostgreSQL, or the one that its
 * standard input describes, and caches `GATEHOUSE_CACHE_MEMORY` mebibytes. It prints one line of JSON when it is ready.
 */
import { once } from "node:events";
import { closeSync, openSync, readSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { Session } from "node:inspector/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { monitorEventLoopDelay, PerformanceObserver, performance } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { getHeapSpaceStatistics } from "node:v8";
import { startEmbeddedPostgres } from "@gatehouse/embedded-postgres";
import { warmUpRules } from "@gatehouse/policy/admission-rules/warm-up-rules";
import { compose } from "@gatehouse/server/compose";
import { acceptQueueLength } from "@gatehouse/server/http/app";
import { prepareBodyChecks } from "@gatehouse/server/http/validation";
import { migrate } from "@gatehouse/server/platform/db/migrations";
import { createLog } from "@gatehouse/server/platform/log";
import { routes } from "@gatehouse/server/routes";
import { benchMasterKey } from "./master-key.ts";

const given = await text(process.stdin);
const postgres =
  given === "" ? await startPostgres() : { connection: JSON.parse(given), pid: undefined, stop: async () => undefined };
const connection = { ...postgres.connection, ssl: false };
/** The folder for snapshots of models. By default, no snapshots are stored. */
const { BENCH_MODEL_SNAPSHOTS: snapshotFolder } = process.env;
await migrate(connection);
// A server does this before it listens.
warmUpRules();
prepareBodyChecks(routes.map(({ operation }) => operation));
const cacheMebibytes = process.env.GATEHOUSE_CACHE_MEMORY;
const server = await compose({
  connection,
  poolSize: 10,
  masterKey: benchMasterKey,
  trustedProxies: [],
  // Requests are counted as in production, but the limit is never reached.
  rateLimits: { perMinute: 100_000_000, authFailures: 300, shared: false },
  log: createLog("error"),
  ...(cacheMebibytes === undefined ? {} : { cacheMebibytes: Number(cacheMebibytes) }),
  modelSnapshots: snapshotFolder === undefined ? undefined : { folder: snapshotFolder, maxBytes: 4 * 1024 ** 3 },
  consoleFolder: fileURLToPath(new URL("../../packages/console/dist", import.meta.url)),
  setUp: {
    operatorKey: undefined,
    bootstrapApiKey: undefined,
    tenantName: "First tenant",
    ownerEmail: "owner@example.com",
  },
});
const url = await server.app.listen({ host: "127.0.0.1", port: 0, backlog: acceptQueueLength });
const resolutionMs = 1;
const delays = monitorEventLoopDelay({ resolution: resolutionMs });
delays.enable();
const profiler = new Session();
profiler.connect();
/** Metering wakes the event loop every millisecond, so it starts with the first request for a measurement. */
let stretches: (() => object) | undefined;
/**
 * Answers with the longest block of the event loop since the last request, in milliseconds. `/profile/start` and
 * `/profile/stop` begin and end a CPU profile, with which `/profile/stop` answers. `/memory` answers with the parts of
 * the memory in MiB, and `/stretches` with the longest stretches since the last request. The first
 * request for stretches starts the meter.
 */
const blocks = createServer(async ({ url: route }, response) => {
  if (route === "/profile/start") {
    await profiler.post("Profiler.enable");
    await profiler.post("Profiler.start");
    response.end();
  } else if (route === "/profile/stop") {
    response.end(JSON.stringify((await profiler.post("Profiler.stop")).profile));
  } else if (route === "/memory") {
    response.end(JSON.stringify(memoryParts()));
  } else if (route === "/snapshots") {
    // Normally, a background task stores them.
    await server.tasks.get("model-snapshots")?.runNow();
    response.end();
  } else if (route === "/stretches") {
    stretches ??= meterStretches();
    response.end(JSON.stringify(stretches()));
  } else {
    response.end(String(Math.max(0, delays.max / 1e6 - resolutionMs)));
    delays.reset();
  }
}).listen(0, "127.0.0.1");
await once(blocks, "listening");
const blocksUrl = `http://127.0.0.1:${(blocks.address() as AddressInfo).port}`; // it listens on a port
process.stdout.write(
  `${JSON.stringify({ url, blocks: blocksUrl, operatorKey: server.installation.operatorKey, database: postgres.connection, postgresPid: postgres.pid })}\n`,
);

process.once("SIGTERM", async () => {
  blocks.close();
  await server.close();
  await postgres.stop();
});

/** The parts of this process's memory, and the used and committed parts of each space of the heap, in MiB. */
function memoryParts(): Readonly<Record<string, number>> {
  const { rss, external, arrayBuffers } = process.memoryUsage();
  const parts: Record<string, number> = { rss, external, arrayBuffers };
  for (const { space_name: name, space_used_size: used, space_size: size } of getHeapSpaceStatistics()) {
    parts[`${name} used`] = used;
    parts[`${name} committed`] = size;
  }
  return Object.fromEntries(Object.entries(parts).map(([name, bytes]) => [name, Math.round(bytes / 2 ** 20)]));
}

async function startPostgres() {
  const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
  // If this process is root, PostgreSQL runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const { connection, pid, stop } = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined });
  return {
    connection,
    pid,
    stop: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Measures the stretches between two turns of the event loop. On a machine with fewer processors than processes, a
 * stretch also contains the time in which other processes ran, so its processor time is measured too: that of this
 * thread, as the kernel accounts it.
 *
 * @returns a function that returns the longest since its last call, in milliseconds
 */
function meterStretches(): () => object {
  const text = Buffer.alloc(100);
  const processorMs = () => {
    const file = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
    try {
      return Number(text.toString("latin1", 0, readSync(file, text, 0, text.length, 0)).split(" ", 1)[0]) / 1e6;
    } finally {
      closeSync(file);
    }
  };
  let longest = { wallMs: 0, processorMs: 0, collectionMs: 0 };
  let at = performance.now();
  let used = processorMs();
  setInterval(() => {
    const [now, usedNow] = [performance.now(), processorMs()];
    longest.wallMs = Math.max(longest.wallMs, now - at);
    longest.processorMs = Math.max(longest.processorMs, usedNow - used);
    [at, used] = [now, usedNow];
  }, 1).unref();
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest.collectionMs = Math.max(longest.collectionMs, duration);
  }).observe({ entryTypes: ["gc"] });
  return () => {
    const found = longest;
    longest = { wallMs: 0, processorMs: 0, collectionMs: 0 };
    return found;
  };
}
