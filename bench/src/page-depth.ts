/**
 * Response times of list pages at the beginning and deep in a large list, by `page[after]` and by `offset`. No question
 * is asked twice, so no answer comes from a cache.
 *
 *     npm run bench:page-depth [-- --resources=1000000]
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import pg from "pg";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { startMeasuredPostgres } from "./measured-postgres.ts";
import { seedResources } from "./seed.ts";
import { reportTarget } from "./targets.ts";

const { values: options } = parseArgs({ options: { resources: { type: "string", default: "1000000" } } });
const resources = Number(options.resources);
const deep = Math.floor(resources * 0.9);
const requests = 200;
/** The target of the ratio of the 99th percentiles. */
const target = 1.5;

const print = (line: string) => process.stdout.write(`${line}\n`);

const postgres = await startMeasuredPostgres();
try {
  const server = await startChild<ServerAnnouncement>("./server-process.js", JSON.stringify(postgres.connection));
  const database = new pg.Client(postgres.connection);
  await database.connect();
  try {
    const tenant = await makeBenchTenant(server.announcement, "Pages");
    await seedResources(postgres.connection, tenant.id, resources);
    print(`Node ${process.version}, ${cpus().length} cores; ${resources.toLocaleString("en")} resources, pages of 50`);
    for (const sort of ["id", "name", "-name"]) await compare(tenant, database, sort);
  } finally {
    await database.end();
    await server.stop();
  }
} finally {
  await postgres.stop();
}

async function compare(tenant: BenchTenant, database: pg.Client, sort: string): Promise<void> {
  const order = { id: "id", name: "name_key, id", "-name": "name_key DESC, id" }[sort];
  const idsFrom = async (offset: number): Promise<readonly string[]> => {
    const { rows } = await database.query(
      `SELECT id FROM resources WHERE tenant_id = $1 ORDER BY ${order} LIMIT $2 OFFSET $3`,
      [tenant.id, requests, offset],
    );
    return rows.map(({ id }) => id);
  };
  const path = `/tenants/resources?limit=50&sort=${sort}`;
  const after = async (offset: number) => (await idsFrom(offset)).map((id) => `${path}&page[after]=${id}`);
  const early = await timesOf(tenant, await after(0));
  const late = await timesOf(tenant, await after(deep));
  const skipped = await timesOf(
    tenant,
    Array.from({ length: requests / 10 }, (_, index) => `${path}&offset=${deep + index}`),
  );
  const ratio = late.p99 / early.p99;
  print(
    `sort=${sort}: after row 0 ${shown(early)}; after row ${deep.toLocaleString("en")} ${shown(late)}, ` +
      `${ratio.toFixed(2)} of the first; offset ${deep.toLocaleString("en")} ${shown(skipped)}`,
  );
  reportTarget({
    name: `page[after] at row ${deep.toLocaleString("en")} of ${resources.toLocaleString("en")}, sort=${sort}`,
    figure: `p99 ${ratio.toFixed(2)} times that of the first pages`,
    target: `≤ ${target}`,
    isReached: ratio <= target,
  });
}

interface Times {
  readonly p50: number;
  readonly p99: number;
}

async function timesOf(tenant: BenchTenant, paths: readonly string[]): Promise<Times> {
  const times: number[] = [];
  for (const path of paths) {
    const startedAt = performance.now();
    await tenant.call("GET", path);
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

function shown({ p50, p99 }: Times): string {
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
}
