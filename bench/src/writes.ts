/**
 * The cost of writes: creating groups in one tenant and in 32, and inviting users in batches of 100. Compares them with
 * a bare transaction of three statements on the same database, with the same durability and number of connections.
 *
 *     npm run bench:writes [-- --quick] [--statements] [--profile=FOLDER] [--only=NAME]
 *       [--connections=COUNT]
 *
 * Reports requests per second, and the processor time per request of the server and of PostgreSQL. With `--statements`
 * it also lists the statements by their time in PostgreSQL, and with `--profile` the server writes a CPU profile.
 */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "@gatehouse/embedded-postgres";
import pg from "pg";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { Caller } from "./caller.ts";
import { processorSecondsOfGroup, startChild } from "./child-server.ts";
import { StatementStatistics } from "./statement-statistics.ts";
import { reportTarget } from "./targets.ts";

const quick = process.argv.includes("--quick");
const optionOf = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const profileFolder = optionOf("profile");
const only = optionOf("only");
const listsStatements = process.argv.includes("--statements");
const connections = Number(optionOf("connections") ?? 32);
/** The connections of the server to the database. */
const poolSize = 10;
const tenantCount = 32;
const usersOfBatch = 100;
const counts = { group: quick ? 1_000 : 20_000, users: quick ? 40 : 1_000, bare: quick ? 2_000 : 40_000 };

const print = (line = "") => process.stdout.write(`${line}\n`);

interface WriteLoad {
  readonly name: string;
  readonly count: number;
  readonly connections: number;
  /** The target, as a share of the bare transactions. */
  readonly target?: number;
  readonly perform: (index: number) => Promise<unknown>;
}

const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
// If this process is root, PostgreSQL runs as another user, which must be able to enter the folder.
await chmod(folder, 0o711);
const settings: Readonly<Record<string, string>> = listsStatements
  ? { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track_planning": "on" }
  : {};
const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined, settings });
const server = await startChild<ServerAnnouncement>("./server-process.js", JSON.stringify(postgres.connection));
const owner = new pg.Pool({ ...postgres.connection, max: poolSize });
// `end` does not wait until its connections are closed, and the database may stop first.
owner.on("error", () => undefined);
try {
  await measure();
} finally {
  await owner.end();
  await server.stop();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const { announcement } = server;
  const statistics = listsStatements ? await StatementStatistics.install(owner) : undefined;
  await owner.query("CREATE TABLE bare_rows (id bigint PRIMARY KEY, tenant integer, text text)");
  await owner.query("CREATE TABLE bare_entries (id bigint PRIMARY KEY, tenant integer, text text)");
  await owner.query("CREATE TABLE bare_outbox (id bigint PRIMARY KEY, tenant integer, text text)");
  const tenants: BenchTenant[] = [];
  for (let index = 0; index < tenantCount; index += 1) {
    tenants.push(await makeBenchTenant(announcement, `Tenant ${index}`));
  }
  const caller = new Caller(announcement.url, connections);
  const group = (index: number) => JSON.stringify({ name: `Group ${index}` });
  const users = (index: number) =>
    JSON.stringify(
      Array.from({ length: usersOfBatch }, (_, place) => ({ email: `person-${index}-${place}@example.com` })),
    );
  const tenantAt = (index: number) => tenants[index % tenants.length] as BenchTenant; // there is at least one
  const loads: readonly WriteLoad[] = [
    { name: "bare transactions", count: counts.bare, connections, perform: bareTransaction },
    {
      name: "create a group, one tenant",
      count: counts.group,
      connections,
      target: 0.25,
      perform: (index) => caller.post(tenantAt(0).key, "/tenants/groups", group(index)),
    },
    {
      name: `create a group, ${tenantCount} tenants`,
      count: counts.group,
      connections,
      target: 0.4,
      perform: (index) => caller.post(tenantAt(index).key, "/tenants/groups", group(index)),
    },
    {
      name: `invite ${usersOfBatch} users, one tenant`,
      count: counts.users,
      connections: 4,
      perform: (index) => caller.post(tenantAt(0).key, "/tenants/users", users(index)),
    },
  ];
  print(
    `Node ${process.version}, ${cpus().length} cores; ${connections} connections (batches: 4), ${poolSize} to the database`,
  );
  print(
    "| write | requests | per second | of bare | p50 (ms) | p99 (ms) | server CPU (µs) | PostgreSQL CPU (µs) | server writes |",
  );
  print("|---|---|---|---|---|---|---|---|---|");
  let bare = Number.NaN;
  /** The indexes used by warming up and by loads, so that names stay unique. */
  let first = 1_000_000;
  for (const load of loads) {
    if (only !== undefined && !load.name.includes(only)) continue;
    await perform({ ...load, count: Math.ceil(load.count / 10) }, first);
    first += load.count;
    await statistics?.reset();
    if (profileFolder !== undefined) await control("/profile/start");
    const before = usage();
    const { seconds, latencies } = await perform(load, first);
    first += load.count;
    const after = usage();
    const profile = profileFolder === undefined ? undefined : await control("/profile/stop");
    if (profileFolder !== undefined && profile !== undefined) {
      await writeFile(path.join(profileFolder, `${load.name.replaceAll(/\W+/g, "-")}.cpuprofile`), profile);
    }
    const perSecond = load.count / seconds;
    if (load.perform === bareTransaction) bare = perSecond;
    const each = (start = Number.NaN, end = Number.NaN) => (((end - start) * 1e6) / load.count).toFixed(0);
    const share = load.target === undefined ? "" : `${(perSecond / bare).toFixed(3)} (target ${load.target})`;
    print(
      `| ${load.name} | ${load.count} | ${perSecond.toFixed(0)} | ${share} | ${at(latencies, 0.5)} | ${at(latencies, 0.99)} | ` +
        `${load.perform === bareTransaction ? "" : each(before.server, after.server)} | ${each(before.postgres, after.postgres)} | ` +
        `${load.perform === bareTransaction ? "" : (((after.writes ?? Number.NaN) - (before.writes ?? 0)) / load.count).toFixed(1)} |`,
    );
    if (load.target !== undefined && !Number.isNaN(bare)) {
      const figure = `${(perSecond / bare).toFixed(3)} of a bare transaction (${perSecond.toFixed(0)}/s)`;
      reportTarget({ name: load.name, figure, target: `≥ ${load.target}`, isReached: perSecond / bare >= load.target });
    }
    if (statistics !== undefined) for (const line of await statistics.lines(load.count)) print(line);
  }
}

function usage() {
  return {
    server: server.processorSeconds(),
    postgres: processorSecondsOfGroup(postgres.pid),
    writes: server.writeCalls(),
  };
}

async function control(route: string): Promise<string> {
  return (await fetch(`${server.announcement.blocks}${route}`)).text();
}

async function perform(
  { count, connections: width, perform: performOne }: WriteLoad,
  first: number,
): Promise<{ readonly seconds: number; readonly latencies: readonly number[] }> {
  const latencies: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < count) {
        const index = first + next;
        next += 1;
        const sentAt = performance.now();
        await performOne(index);
        latencies.push(performance.now() - sentAt);
      }
    }),
  );
  return { seconds: (performance.now() - startedAt) / 1000, latencies: latencies.sort((a, b) => a - b) };
}

function at(sorted: readonly number[], share: number): string {
  return (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1);
}

/** Three prepared insertions, sent like a usual program does: one after the other. */
async function bareTransaction(index: number): Promise<void> {
  const client = await owner.connect();
  try {
    await client.query("BEGIN");
    for (const table of ["bare_rows", "bare_entries", "bare_outbox"]) {
      const text = `INSERT INTO ${table} (id, tenant, text) VALUES ($1, $2, $3)`;
      await client.query({ name: table, text, values: [index, index % tenantCount, "A text of the length of a name"] });
    }
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}
