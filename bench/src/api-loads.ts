/**
 * Load test of the API. It measures bare Fastify, one resource, pages of resources and a write, with their targets. It
 * also measures how a page's latency grows with the tenant, what the fence costs, and how much memory the server takes.
 * All measurements run side by side in one run, because machines differ.
 *
 *     npm run bench:api [-- --quick] [--seconds=4] [--rounds=3]
 */
import { cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type pg from "pg";
import type { ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { measureFence } from "./fence.ts";
import { type Load, type LoadResult, run } from "./load.ts";
import { seedResources } from "./seed.ts";

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, seconds: { type: "string" }, rounds: { type: "string" } },
});
const { quick } = options;
const seconds = Number(options.seconds ?? (quick ? 2 : 4));
const rounds = Number(options.rounds ?? (quick ? 1 : 3));
const connections = 32;
/** About six times the records that the server's cache holds. */
const idsInTurn = 100_000;
/** Changes per second elsewhere in the tenant. */
const changesPerSecond = 20;
/** Pages of which every request asks for a different one. */
const differentPages = 5_000;
const sizes = { small: 1_000, middle: 100_000, large: quick ? 200_000 : 1_000_000 };

/** Requests of each tenant in the growth measurement; the first pages, in turn. */
const growthRequests = quick ? 500 : 2_000;
const firstPages = 5;

const print = (line = "") => process.stdout.write(`${line}\n`);
const server = await startChild<ServerAnnouncement>("./server-process.js");
try {
  await measure(server.announcement);
} finally {
  await server.stop();
}

async function measure({ url, operatorKey, database }: ServerAnnouncement): Promise<void> {
  const tenants = {
    small: await makeTenant(url, operatorKey, database, "Small", sizes.small, 0),
    middle: await makeTenant(url, operatorKey, database, "Middle", sizes.middle, idsInTurn),
    large: await makeTenant(url, operatorKey, database, "Large", sizes.large, 0),
  };
  print(
    `Node ${process.version}, ${cpus().length} cores, ${connections} connections, ${rounds} rounds of ${seconds} s each`,
  );
  print();

  const { headers, firstId, ids } = tenants.middle;
  const resource = `${url}/tenants/resources/${firstId}`;
  const page = `${url}/tenants/resources?limit=50&sort=name&filter[type]=PRIVATE`;
  const bytesOf = async (asked: string) => (await fetch(asked, { headers })).text();
  const bare = {
    record: await startChild<{ url: string }>("./bare-fastify.js", await bytesOf(resource)),
    page: await startChild<{ url: string }>("./bare-fastify.js", await bytesOf(page)),
  };
  const list = "GET /tenants/resources, 50";
  const loads: readonly ApiLoad[] = [
    { name: "bare Fastify, the bytes of a resource", like: "record", load: { url: bare.record.announcement.url } },
    { name: "bare Fastify, the bytes of a page", like: "page", load: { url: bare.page.announcement.url } },
    {
      name: "GET /tenants/resources/{id}, one resource",
      like: "record",
      target: 0.3,
      load: { url: resource, headers },
    },
    {
      name: `GET /tenants/resources/{id}, ${ids.length.toLocaleString("en")} in turn`,
      like: "record",
      target: 0.1,
      load: { url, paths: ids.map((id) => `/tenants/resources/${id}`), headers },
    },
    { name: `${list}, one question repeated`, like: "page", target: 0.2, load: { url: page, headers } },
    {
      name: `${list}, repeated, ${changesPerSecond} changes/s elsewhere`,
      like: "page",
      target: 0.1,
      load: { url: page, headers },
      changing: true,
    },
    {
      name: `${list}, any sort, offset and type`,
      like: "page",
      target: 0.05,
      targetP99: 60,
      load: { url, paths: anyPages(), headers },
    },
    { name: `${list}, other filters`, like: "page", target: 0.01, load: { url, paths: otherFilters(), headers } },
    {
      name: "POST /tenants/protocols",
      like: "record",
      load: {
        url: `${url}/tenants/protocols`,
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: '{"name":"Bench [<id>]","networkProtocols":[{"protocol":"TCP","port":"8443"}]}',
      },
    },
  ];
  // Loads alternate in rounds, so that fluctuations of the machine affect all of them equally.
  const results = loads.map((): LoadResult[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { load, changing }] of loads.entries()) {
      const changes = changing === true ? changeAlways(url, headers) : undefined;
      await run({ ...load, connections, seconds: 1 });
      results[index]?.push(await run({ ...load, connections, seconds }));
      await changes?.stop();
    }
  }
  const bareOf = { record: summary(results[0] ?? []), page: summary(results[1] ?? []) };
  for (const [index, { name, like, target, targetP99 }] of loads.entries()) {
    const { perSecond, p50, p99, failures } = summary(results[index] ?? []);
    const share = perSecond / bareOf[like].perSecond;
    const isMissed = share < (target ?? 0) || p99 > (targetP99 ?? Number.POSITIVE_INFINITY);
    const latencyTarget = targetP99 === undefined ? "" : `, p99 at most ${targetP99} ms`;
    print(
      `${name.padEnd(64)} ${perSecond.toFixed(0).padStart(7)}/s  ${share.toFixed(3)} of bare  ` +
        `p50 ${p50} ms  p99 ${p99} ms${failures > 0 ? `  ${failures} FAILED` : ""}` +
        (target === undefined ? "" : `  target ${target}${latencyTarget}${isMissed ? "  MISSED" : ""}`),
    );
  }
  await bare.record.stop();
  await bare.page.stop();
  print();

  for (const query of ["limit=50&sort=name", "limit=50&sort=name&filter[type]=PRIVATE"]) {
    const [few, many] = await growth(url, query, tenants.small.headers, tenants.large.headers);
    print(
      `${query}: p99 ${few.toFixed(2)} ms with ${sizes.small.toLocaleString("en")} resources, ${many.toFixed(2)} ms with ` +
        `${sizes.large.toLocaleString("en")}: ${(many / few).toFixed(2)} times`,
    );
  }
  print();

  const fence = await measureFence(database, tenants.middle.id, firstId);
  print(
    `the fence: ${fence.fencedPerSecond.toFixed(0)} reads/s with it, ${fence.unfencedPerSecond.toFixed(0)} without: ` +
      `${(fence.fencedPerSecond / fence.unfencedPerSecond).toFixed(2)} of the unfenced throughput`,
  );
  const memory = server.memory();
  if (memory !== undefined) {
    print(
      `the server's memory (RSS): ${memory.now.toFixed(0)} MiB now, ${memory.highest.toFixed(0)} MiB at its highest`,
    );
  }
}

interface ApiLoad {
  readonly name: string;
  /** The bytes that bare Fastify sends in comparison. */
  readonly like: "record" | "page";
  /** The least share of bare Fastify's throughput. */
  readonly target?: number;
  /** The highest p99, in milliseconds. */
  readonly targetP99?: number;
  readonly load: Omit<Load, "connections" | "seconds">;
  /** Whether something else in the tenant changes meanwhile. */
  readonly changing?: true;
}

/** Different pages with every sort, offsets up to 10,000, and no filter or one by type. */
function anyPages(): string[] {
  const sorts = ["name", "-name", "id", "-id"];
  const filters = ["", "&filter[type]=PRIVATE", "", "&filter[type]=SAAS", "&filter[type]=INTERNET"];
  return Array.from({ length: differentPages }, (_, number) => {
    const order = `sort=${sorts[number % sorts.length]}&offset=${(number * 7_919) % 10_001}`;
    return `/tenants/resources?limit=50&${order}${filters[number % filters.length]}`;
  });
}

/** Pages by part of the name, whose matching rows have to be counted. */
function otherFilters(): string[] {
  return Array.from({ length: differentPages }, (_, number) => {
    const part = number.toString(16).padStart(3, "0");
    return `/tenants/resources?limit=50&sort=name&filter[name][ilike]=%25${part}%25`;
  });
}

/** Changes a group again and again, at a fixed rate. */
function changeAlways(url: string, headers: Readonly<Record<string, string>>): { stop(): Promise<void> } {
  let stopped = false;
  const change = async () => {
    const made = await fetch(`${url}/tenants/groups`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ name: `Bench ${performance.now()}` }),
    });
    const { id } = (await made.json()) as { id: string }; // the operation declares this type
    for (let number = 0; !stopped; number += 1) {
      await fetch(`${url}/tenants/groups/${id}`, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ description: `Change ${number}` }),
      });
      await delay(1_000 / changesPerSecond);
    }
  };
  const changed = change();
  return {
    stop: () => {
      stopped = true;
      return changed;
    },
  };
}

/** Summarizes several rounds: the mean throughput and the worst latencies. */
function summary(results: readonly LoadResult[]): LoadResult {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    perSecond: sum(results.map(({ perSecond }) => perSecond)) / results.length,
    p50: Math.max(...results.map(({ p50 }) => p50)),
    p99: Math.max(...results.map(({ p99 }) => p99)),
    failures: sum(results.map(({ failures }) => failures)),
  };
}

interface SeededTenant {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly firstId: string;
  /** Some of its resources. */
  readonly ids: readonly string[];
}

async function makeTenant(
  url: string,
  operatorKey: string,
  database: pg.ClientConfig,
  name: string,
  resources: number,
  idsWanted: number,
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
  const ids: string[] = [];
  for (let offset = 0; offset < Math.min(resources, idsWanted); offset += 100) {
    const page = await fetch(`${url}/tenants/resources?limit=100&offset=${offset}`, { headers });
    // The operation declares this type.
    const { data } = (await page.json()) as { data: { id: string }[] };
    ids.push(...data.map(({ id }) => id));
  }
  return { id: made.tenant.id, headers, firstId: ids[0] ?? "", ids };
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
