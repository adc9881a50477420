/**
 * Load test of the API. It measures bare Fastify, one resource, pages of resources and a write, with their targets. It
 * also measures how a page's latency grows with the tenant, what the fence costs, and how much memory the server takes.
 * All measurements run side by side in one run, because machines differ.
 *
 *     npm run bench:loads [-- --quick] [--seconds=4] [--rounds=3] [--only=NAME] [--statements] [--profile=FOLDER]
 *       [--memory]
 *
 * Each load has its throughput, and its processor time per request in the server and in PostgreSQL. Processor time
 * depends less on other work of the machine. `--only` selects the loads whose name contains a text. `--statements`
 * lists the statements of each load by their time, and `--profile` writes a CPU profile of the server for each load.
 * `--memory` lists the parts of the server's memory after each load, and when its memory was highest.
 */
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { type ApiLoad, apiLoads, changeAlways, changeOnce, firstPage, smallCacheMebibytes } from "./api-load-list.ts";
import type { ServerAnnouncement } from "./bench-tenant.ts";
import { type ChildServer, processorSecondsOfGroup, startChild } from "./child-server.ts";
import { measureFence } from "./fence.ts";
import { type Load, type LoadResult, run } from "./load.ts";
import { startMeasuredPostgres } from "./measured-postgres.ts";
import { MemorySamples } from "./memory-samples.ts";
import { seedResources } from "./seed.ts";
import { StatementStatistics } from "./statement-statistics.ts";
import { reportTarget } from "./targets.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    seconds: { type: "string" },
    rounds: { type: "string" },
    only: { type: "string" },
    statements: { type: "boolean", default: false },
    profile: { type: "string" },
    memory: { type: "boolean", default: false },
  },
});
const { quick, only = "" } = options;
const seconds = Number(options.seconds ?? (quick ? 2 : 4));
const rounds = Number(options.rounds ?? (quick ? 1 : 3));
const connections = 32;
/** Changes per second elsewhere in the tenant. */
const changesPerSecond = 20;
const sizes = { small: 1_000, middle: 100_000, large: quick ? 200_000 : 1_000_000 };

/** Requests of each tenant in the growth measurement; the first pages, in turn. */
const growthRequests = quick ? 500 : 2_000;
const firstPages = 5;
/** The highest acceptable ratio of the p99 with many records to the p99 with few. */
const growthTarget = 1.2;
const nameWidth = 70;
/** MiB. */
const memoryTarget = 300;

const print = (line = "") => process.stdout.write(`${line}\n`);
const postgres = await startMeasuredPostgres(options.statements);
const server = await startChild<ServerAnnouncement>("./server-process.js", JSON.stringify(postgres.connection));
const memory = options.memory ? new MemorySamples(server.announcement.blocks) : undefined;
try {
  await measure(server.announcement);
} finally {
  await memory?.stop();
  await server.stop();
  await postgres.stop();
}

async function measure({ url, operatorKey, database }: ServerAnnouncement): Promise<void> {
  const owner = new pg.Pool({ ...database, max: 1 });
  // `end` does not wait until its connections are closed, and the database may stop first.
  owner.on("error", () => undefined);
  const statistics = options.statements ? await StatementStatistics.install(owner) : undefined;
  const middle = await makeTenant(url, operatorKey, database, "Middle", sizes.middle);
  print(
    `Node ${process.version}, ${cpus().length} cores, ${connections} connections, ${rounds} rounds of ${seconds} s each`,
  );
  print();

  const { headers, firstId } = middle;
  const [record, page] = [`/tenants/resources/${firstId}`, firstPage];
  const bytesOf = async (asked: string) => (await fetch(`${url}${asked}`, { headers })).text();
  const bare = {
    record: await startChild<{ url: string }>("./bare-fastify.js", await bytesOf(record)),
    page: await startChild<{ url: string }>("./bare-fastify.js", await bytesOf(page)),
  };
  const small = await startChild<ServerAnnouncement>("./server-process.js", JSON.stringify(postgres.connection), [], {
    GATEHOUSE_CACHE_MEMORY: String(smallCacheMebibytes),
  });
  const smallUrl = small.announcement.url;
  const loads = apiLoads({ url, smallUrl, headers, ids: await idsOf(owner, middle.id), changesPerSecond })
    .filter(({ name }) => name.includes(only))
    .map((load) => ({ ...load, results: [] as Measured[] }));
  const bareLoads = (["record", "page"] as const).map((like) => ({
    like,
    name: `bare Fastify, the bytes of a ${like}`,
    load: { url: bare[like].announcement.url },
    results: [] as Measured[],
  }));
  // Loads alternate in rounds, so that fluctuations of the machine affect all of them equally.
  for (let round = 0; round < rounds; round += 1) {
    for (const { like, load, results } of bareLoads) results.push(await measureLoad(load, bare[like], 1));
    for (const { name, load, changing, afterChange, smallCache, warmUpSeconds, results } of loads) {
      if (afterChange === true) await changeOnce(url, headers);
      const changes = changing === true ? changeAlways(url, headers, changesPerSecond) : undefined;
      const of = smallCache === true ? small : server;
      results.push(
        await measureLoad(load, of, warmUpSeconds, {
          begin: async () => {
            await statistics?.reset();
            if (options.profile !== undefined) await fetch(`${of.announcement.blocks}/profile/start`);
          },
          end: async (requests) => {
            await storeProfile(name, of);
            if (memory !== undefined && of === server) {
              print(`${name}: ${await memory.now()}`);
              print(`  at its highest: ${memory.takeHighest()}`);
            }
            if (statistics !== undefined) print([name, ...(await statistics.lines(requests))].join("\n"));
          },
        }),
      );
      await changes?.stop();
    }
  }
  for (const { name, results } of bareLoads) print(`${name.padEnd(nameWidth)} ${figures(summary(results))}`);
  for (const load of loads) {
    const [ofBare] = bareLoads.filter(({ like }) => like === load.like).map(({ results }) => summary(results));
    if (ofBare !== undefined) printLoad(load, summary(load.results), ofBare);
  }
  for (const other of [bare.record, bare.page, small]) await other.stop();
  print();
  if (only === "") {
    await printGrowth(url, operatorKey, database);
    const fence = await measureFence(database, middle.id, firstId);
    print(
      `the fence: ${fence.fencedPerSecond.toFixed(0)} reads/s with it, ${fence.unfencedPerSecond.toFixed(0)} without: ` +
        `${(fence.fencedPerSecond / fence.unfencedPerSecond).toFixed(2)} of the unfenced throughput`,
    );
  }
  printMemory();
  if (memory !== undefined) print(`at its highest after the loads: ${memory.takeHighest()}`);
  await owner.end();
}

interface Measured extends Omit<LoadResult, "processorSeconds"> {
  /** Microseconds of processor time for each request. */
  readonly serverCpu: number;
  readonly postgresCpu: number;
}

/** Warms up, and measures a load. */
async function measureLoad(
  load: Omit<Load, "connections" | "seconds">,
  of: ChildServer<unknown>,
  warmUpSeconds = 1,
  around?: { begin(): Promise<void>; end(requests: number): Promise<void> },
): Promise<Measured> {
  if (warmUpSeconds > 0) await run({ ...load, connections, seconds: warmUpSeconds });
  await around?.begin();
  const used = () =>
    [of.processorSeconds() ?? Number.NaN, processorSecondsOfGroup(postgres.pid) ?? Number.NaN] as const;
  const [serverBefore, postgresBefore] = used();
  const result = await run({ ...load, connections, seconds });
  const [serverAfter, postgresAfter] = used();
  await around?.end(result.requests);
  const each = (spent: number) => (spent * 1e6) / result.requests;
  return { ...result, serverCpu: each(serverAfter - serverBefore), postgresCpu: each(postgresAfter - postgresBefore) };
}

async function storeProfile(name: string, of: ChildServer<ServerAnnouncement>): Promise<void> {
  if (options.profile === undefined) return;
  const profile = await (await fetch(`${of.announcement.blocks}/profile/stop`)).text();
  await writeFile(path.join(options.profile, `${name.replaceAll(/\W+/g, "-")}.cpuprofile`), profile);
}

function printLoad({ name, target, targetP99 }: ApiLoad, measured: Measured, bare: Measured): void {
  const share = measured.perSecond / bare.perSecond;
  const cpuShare = bare.serverCpu / (measured.serverCpu + measured.postgresCpu);
  print(
    `${name.padEnd(nameWidth)} ${figures(measured)}  ${share.toFixed(3)} of bare, by CPU ${cpuShare.toFixed(3)}` +
      (measured.failures > 0 ? `  ${measured.failures} FAILED` : ""),
  );
  if (target !== undefined) {
    reportTarget({
      name,
      figure: `${share.toFixed(3)} of bare Fastify (${cpuShare.toFixed(3)} by CPU)`,
      target: `≥ ${target}`,
      isReached: share >= target,
    });
  }
  if (targetP99 !== undefined) {
    const isReached = measured.p99 <= targetP99;
    reportTarget({ name, figure: `p99 ${measured.p99} ms`, target: `≤ ${targetP99} ms`, isReached });
  }
}

function figures({ perSecond, p50, p99, serverCpu, postgresCpu }: Measured): string {
  return (
    `${perSecond.toFixed(0).padStart(6)}/s  p50 ${p50} ms  p99 ${p99} ms  ` +
    `${serverCpu.toFixed(0)} µs CPU, PostgreSQL ${postgresCpu.toFixed(0)} µs`
  );
}

function printMemory(): void {
  const resident = server.memory();
  if (resident === undefined) return;
  const { now, highest } = resident;
  print(`the server's memory (RSS): ${now.toFixed(0)} MiB now, ${highest.toFixed(0)} MiB at its highest`);
  reportTarget({
    name: "memory under the API load",
    figure: `${highest.toFixed(0)} MiB`,
    target: `≤ ${memoryTarget} MiB`,
    isReached: highest <= memoryTarget,
  });
}

/** Compares first pages of a small and of a large tenant. */
async function printGrowth(url: string, operatorKey: string, database: pg.ClientConfig): Promise<void> {
  const small = await makeTenant(url, operatorKey, database, "Small", sizes.small);
  const large = await makeTenant(url, operatorKey, database, "Large", sizes.large);
  for (const query of ["limit=50&sort=name", "limit=50&sort=name&filter[type]=PRIVATE"]) {
    const [few, many] = await growth(url, query, small.headers, large.headers);
    print(
      `${query}: p99 ${few.toFixed(2)} ms with ${sizes.small.toLocaleString("en")} resources, ${many.toFixed(2)} ms with ` +
        `${sizes.large.toLocaleString("en")}: ${(many / few).toFixed(2)} times`,
    );
    reportTarget({
      name: `p99 of first pages, ${query}`,
      figure: `${(many / few).toFixed(2)} times that of 1,000 resources`,
      target: `≤ ${growthTarget}`,
      isReached: many / few <= growthTarget,
    });
  }
}

/** Summarizes several rounds: the mean throughput and the worst latencies. */
function summary(results: readonly Measured[]): Measured {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const mean = (values: readonly number[]) => sum(values) / values.length;
  return {
    requests: sum(results.map(({ requests }) => requests)),
    perSecond: mean(results.map(({ perSecond }) => perSecond)),
    serverCpu: mean(results.map(({ serverCpu }) => serverCpu)),
    postgresCpu: mean(results.map(({ postgresCpu }) => postgresCpu)),
    p50: Math.max(...results.map(({ p50 }) => p50)),
    p99: Math.max(...results.map(({ p99 }) => p99)),
    failures: sum(results.map(({ failures }) => failures)),
  };
}

interface SeededTenant {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly firstId: string;
}

async function makeTenant(
  url: string,
  operatorKey: string,
  database: pg.ClientConfig,
  name: string,
  resources: number,
): Promise<SeededTenant> {
  const response = await fetch(`${url}/operator/tenants`, {
    method: "POST",
    headers: { apikey: operatorKey, "content-type": "application/json" },
    body: JSON.stringify({ name, ownerEmail: "owner@example.com" }),
  });
  // The operation declares this type.
  const made = (await response.json()) as { tenant: { id: string }; apiKey: { key: string } };
  await seedResources(database, made.tenant.id, resources);
  const headers = { apikey: made.apiKey.key };
  const page = await fetch(`${url}/tenants/resources?limit=1`, { headers });
  // The operation declares this type.
  const { data } = (await page.json()) as { data: { id: string }[] };
  return { id: made.tenant.id, headers, firstId: data[0]?.id ?? "" };
}

/** The ids of all resources of a tenant. */
async function idsOf(owner: pg.Pool, tenantId: string): Promise<readonly string[]> {
  const { rows } = await owner.query<{ id: string }>("SELECT id FROM resources WHERE tenant_id = $1", [tenantId]);
  return rows.map(({ id }) => id);
}

/**
 * Returns the p99 latency of a list's first pages for two tenants, in milliseconds. One client alternates between them.
 */
async function growth(
  url: string,
  query: string,
  few: Readonly<Record<string, string>>,
  many: Readonly<Record<string, string>>,
): Promise<readonly [number, number]> {
  const timings: [number[], number[]] = [[], []];
  for (let request = 0; request < growthRequests; request += 1) {
    const offset = (request % firstPages) * 50;
    for (const [index, headers] of [few, many].entries()) {
      const startedAt = performance.now();
      const response = await fetch(`${url}/tenants/resources?${query}&offset=${offset}`, { headers });
      await response.arrayBuffer();
      // The first tenth warms connections, plans and caches.
      if (request > growthRequests / 10) timings[index]?.push(performance.now() - startedAt);
    }
  }
  return [percentile(timings[0], 0.99), percentile(timings[1], 0.99)];
}

function percentile(values: number[], share: number): number {
  values.sort((a, b) => a - b);
  return values[Math.floor(values.length * share)] ?? Number.NaN;
}
