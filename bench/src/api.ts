/**
 * Load test of the API. It measures bare Fastify, one resource, a page of resources and a write. It also measures how a
 * page's latency grows with the tenant, what the fence costs, and how much memory the server takes. All measurements
 * run side by side in one run, because machines differ.
 *
 *     npm run bench:api [-- --quick]
 */
import { cpus } from "node:os";
import type pg from "pg";
import type { ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { measureFence } from "./fence.ts";
import { type Load, type LoadResult, run } from "./load.ts";
import { seedResources } from "./seed.ts";

const quick = process.argv.includes("--quick");
const seconds = quick ? 2 : 4;
const rounds = quick ? 1 : 3;
const connections = 32;
/** More ids than the server's record cache holds. */
const idsInTurn = 40_000;
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
  const bytes = await (await fetch(resource, { headers })).text();
  const bare = await startChild<{ url: string }>("./bare-fastify.js", bytes);
  const page = `${url}/tenants/resources?limit=50&sort=name&filter[type]=PRIVATE`;
  const loads: readonly (readonly [string, Omit<Load, "connections" | "seconds">])[] = [
    ["bare Fastify, the same bytes", { url: bare.announcement.url }],
    ["GET /tenants/resources/{id}, one resource", { url: resource, headers }],
    [
      `GET /tenants/resources/{id}, ${ids.length.toLocaleString("en")} in turn`,
      { url, paths: ids.map((id) => `/tenants/resources/${id}`), headers },
    ],
    [`GET /tenants/resources (50 of ${sizes.middle.toLocaleString("en")}, filtered, sorted)`, { url: page, headers }],
    [
      "POST /tenants/protocols",
      {
        url: `${url}/tenants/protocols`,
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: '{"name":"Bench [<id>]","networkProtocols":[{"protocol":"TCP","port":"8443"}]}',
      },
    ],
  ];
  // Loads alternate in rounds, so that fluctuations of the machine affect all of them equally.
  const results = loads.map((): LoadResult[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, [, load]] of loads.entries()) {
      await run({ ...load, connections, seconds: 1 });
      results[index]?.push(await run({ ...load, connections, seconds }));
    }
  }
  const bareResult = summary(results[0] ?? []);
  for (const [index, [name]] of loads.entries()) {
    const { perSecond, p50, p99, failures } = summary(results[index] ?? []);
    const share = perSecond / bareResult.perSecond;
    print(
      `${name.padEnd(64)} ${perSecond.toFixed(0).padStart(7)}/s  ${share.toFixed(3)} of bare  ` +
        `p50 ${p50} ms  p99 ${p99} ms${failures > 0 ? `  ${failures} FAILED` : ""}`,
    );
  }
  await bare.stop();
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
