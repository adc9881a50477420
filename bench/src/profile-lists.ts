/**
 * Profile of list pages: processor time per request in the server and in PostgreSQL, and the statements behind a page.
 * Processor time hardly depends on other load of the machine, unlike throughput.
 *
 *     npm run bench:lists [-- --requests=1000] [--resources=100000] [--profile]
 *
 * `--profile` also prints which parts of the server's process take the time, according to V8's sampling profiler.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { type ChildServer, processorSecondsOf, startChild } from "./child-server.ts";
import { startMeasuredPostgres } from "./measured-postgres.ts";
import { seedResources } from "./seed.ts";

const { values: options } = parseArgs({
  options: {
    requests: { type: "string", default: "1000" },
    resources: { type: "string", default: "100000" },
    profile: { type: "boolean", default: false },
  },
});
const requests = Number(options.requests);
/** Requests at the same time. */
const callers = 4;

const sorts = ["name", "-name", "id", "-id"];
const types = ["PRIVATE", "SAAS", "INTERNET"];

const print = (line = "") => process.stdout.write(`${line}\n`);

interface Case {
  readonly name: string;
  /** The path of the request with this number. */
  readonly pathOf: (number: number) => string;
  /** How much more a request costs than the others: fewer are made. */
  readonly cost?: number;
}

const page = "/tenants/resources?limit=50&sort=name&filter[type]=PRIVATE";
const cases: readonly Case[] = [
  { name: "one resource", pathOf: () => "" },
  { name: "page of 50 resources, one question repeated", pathOf: () => page },
  {
    name: "page of 50 resources, every question different",
    pathOf: (number) => {
      const filter = number % 2 === 0 ? "" : `&filter[type]=${types[number % 3]}`;
      return `/tenants/resources?limit=50&sort=${sorts[number % sorts.length]}&offset=${(number * 37) % 10_000}${filter}`;
    },
  },
  {
    name: "page of 50 resources, other filters, every question different",
    pathOf: (number) => `/tenants/resources?limit=50&sort=name&filter[name][ilike]=%25${number.toString(16)}%25`,
    cost: 20,
  },
  { name: "page of 2 users, one question repeated", pathOf: () => "/tenants/users?limit=50" },
  {
    name: "page of 2 users, every question different",
    pathOf: (number) => `/tenants/users?limit=${2 + (number % 99)}`,
  },
];

const postgres = await startMeasuredPostgres();
const profiles = await mkdtemp(path.join(tmpdir(), "gatehouse-profile-"));
const flags = options.profile ? ["--cpu-prof", `--cpu-prof-dir=${profiles}`] : [];
try {
  const server = await startChild<ServerAnnouncement>(
    "./server-process.js",
    JSON.stringify(postgres.connection),
    flags,
  );
  const database = new pg.Client(postgres.connection);
  await database.connect();
  try {
    await database.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    await measure(server, database);
  } finally {
    await database.end();
    await server.stop();
  }
  if (options.profile) await printProfile();
} finally {
  await postgres.stop();
  await rm(profiles, { recursive: true, force: true });
}

async function measure(server: ChildServer<ServerAnnouncement>, database: pg.Client): Promise<void> {
  const { announcement } = server;
  const tenant = await makeBenchTenant(announcement, "Lists");
  await seedResources(postgres.connection, tenant.id, Number(options.resources));
  const { groups } = await firstUser(tenant);
  await tenant.call("POST", "/tenants/users", JSON.stringify({ email: "second@example.com", groups }));
  const { data } = JSON.parse(await tenant.call("GET", "/tenants/resources?limit=1")) as { data: { id: string }[] }; // a page
  print(`${requests} requests each, ${callers} at a time, ${options.resources} resources`);
  for (const { name, pathOf, cost = 1 } of cases) {
    const count = Math.ceil(requests / cost);
    const target = (number: number) => pathOf(number) || `/tenants/resources/${data[0]?.id}`;
    await request(tenant, target, 0, Math.ceil(count / 5));
    await database.query("SELECT pg_stat_statements_reset()");
    const before = await processorTimes(server, database);
    await request(tenant, target, 100_000, count);
    const after = await processorTimes(server, database);
    print();
    print(
      `${name}: ${perRequest(after.server - before.server, count)} in the server, ` +
        `${perRequest(after.database - before.database, count)} in PostgreSQL`,
    );
    await printStatements(database, count);
  }
}

async function firstUser(tenant: BenchTenant): Promise<{ readonly groups: readonly string[] }> {
  const { data } = JSON.parse(await tenant.call("GET", "/tenants/groups?limit=1")) as { data: { id: string }[] }; // a page
  return { groups: data.map(({ id }) => id) };
}

async function request(
  tenant: BenchTenant,
  target: (number: number) => string,
  from: number,
  count: number,
): Promise<void> {
  let next = from;
  const last = from + count;
  const caller = async () => {
    while (next < last) {
      next += 1;
      await tenant.call("GET", target(next));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/** Processor time used so far, in seconds. */
async function processorTimes(
  server: ChildServer<ServerAnnouncement>,
  database: pg.Client,
): Promise<{ readonly server: number; readonly database: number }> {
  const { rows } = await database.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'gatehouse'");
  const seconds = rows.map(({ pid }) => processorSecondsOf(pid) ?? 0);
  return { server: server.processorSeconds() ?? 0, database: seconds.reduce((sum, value) => sum + value, 0) };
}

function perRequest(seconds: number, count: number): string {
  return `${((seconds / count) * 1e6).toFixed(0)} µs`;
}

async function printStatements(database: pg.Client, count: number): Promise<void> {
  const { rows } = await database.query(
    `SELECT calls, total_plan_time / $1 AS plan, total_exec_time / $1 AS execution, regexp_replace(query, '\\s+', ' ', 'g') AS query
     FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%' ORDER BY total_plan_time + total_exec_time DESC LIMIT 7`,
    [count],
  );
  for (const { calls, plan, execution, query } of rows) {
    print(
      `  ${(plan * 1_000).toFixed(0).padStart(5)} µs planning ${(execution * 1_000).toFixed(0).padStart(5)} µs execution ` +
        `${(calls / count).toFixed(2)} times  ${query.slice(0, 90)}`,
    );
  }
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Prints the parts of the process by their own time, without idle time. */
async function printProfile(): Promise<void> {
  const [file] = await readdir(profiles);
  if (file === undefined) return;
  const profile = JSON.parse(await readFile(path.join(profiles, file), "utf8")) as CpuProfile; // V8's format
  const parts = new Map(profile.nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]));
  const times = new Map<string, number>();
  profile.samples.forEach((id, index) => {
    const part = parts.get(id) ?? "";
    if (part !== "(idle)") times.set(part, (times.get(part) ?? 0) + (profile.timeDeltas[index] ?? 0));
  });
  const total = [...times.values()].reduce((sum, value) => sum + value, 0);
  print();
  print(`the server's process, ${(total / 1e6).toFixed(1)} s in total including its start`);
  const sorted = [...times].sort((a, b) => b[1] - a[1]).slice(0, 40);
  for (const [part, time] of sorted) print(`  ${((time / total) * 100).toFixed(1).padStart(5)} %  ${part}`);
}

function partOf({ functionName, url }: { readonly functionName: string; readonly url: string }): string {
  if (url === "") return functionName;
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url);
  const file = inPackage?.[1] ?? url.replace(/^.*\/dist\//, "").replace(/^node:/, "node:");
  return `${file}  ${functionName}`;
}
