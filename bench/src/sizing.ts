/**
 * The needs of an installation for each thousand users, devices, gateways and events: disk, memory and processor time
 * of the server and of PostgreSQL. Records are created through the API, so that the audit record grows with them.
 *
 *     npm run bench:sizing [-- --quick]
 *
 * Times are processor times, so that other work on the machine does not change them. Disk is what relations occupy,
 * without the write-ahead log.
 */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startEmbeddedPostgres } from "@gatehouse/embedded-postgres";
import pg from "pg";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { processorSecondsOfGroup, startChild } from "./child-server.ts";
import { armDevices, armGateways, linkedFacts } from "./linked-tenant.ts";
import { seedFacts } from "./seed-facts.ts";
import { SimulatedDevices } from "./simulated-devices.ts";
import { SimulatedGateways } from "./simulated-gateways.ts";

const quick = process.argv.includes("--quick");
const counts = quick
  ? { users: 2_000, devices: 500, gateways: 200, events: 1_000, linkedGateways: 100, linkedDevices: 500 }
  : { users: 20_000, devices: 5_000, gateways: 1_000, events: 10_000, linkedGateways: 1_000, linkedDevices: 5_000 };
const callers = 8;
const heartbeatSeconds = quick ? 20 : 60;

const print = (line = "") => process.stdout.write(`${line}\n`);
const folder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-"));
// If this process is root, PostgreSQL runs as another user, which must be able to enter the folder.
await chmod(folder, 0o711);
const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined });
const server = await startChild<ServerAnnouncement>("./server-process.js", JSON.stringify(postgres.connection));
const owner = new pg.Pool({ ...postgres.connection, max: 1 });
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
  const tenant = await makeBenchTenant(announcement, "Sizing");
  const empty = await usage();
  print(`Node ${process.version}, ${cpus().length} cores`);
  print(
    `An empty installation: ${mebibytes(empty.disk)} MiB of disk, ${empty.memory.toFixed(0)} MiB of the server's memory`,
  );
  print();
  print("| per thousand | disk (MiB) | of it audit record | memory (MiB) | server CPU (s) | PostgreSQL CPU (s) |");
  print("|---|---|---|---|---|---|");
  const users = await created("users", counts.users, async () => {
    const size = 100;
    const batches = Array.from({ length: counts.users / size }, (_, batch) =>
      Array.from({ length: size }, (_, place) => ({ email: `person-${batch}-${place}@example.com` })),
    );
    return (await each(batches, (batch) => make(tenant, "users", batch))).flat();
  });
  await created("devices", counts.devices, () =>
    each(users.slice(0, counts.devices), ({ id }, index) =>
      make(tenant, "devices", {
        name: `Device ${index}`,
        userId: id,
        hardwareId: `SERIAL-${index}`,
        publicKey: keyOf(index),
      }),
    ),
  );
  await created("gateways", counts.gateways, () =>
    each(Array.from({ length: counts.gateways }), (_, index) =>
      make(tenant, "gateways", { name: `Gateway ${index}`, wireguardPort: "51820", endpoint: "gateway.example.com" }),
    ),
  );
  await created("events (a changed user)", counts.events, () =>
    each(Array.from({ length: counts.events }), (_, index) => {
      const { id } = users[index % users.length] as Made; // there are users
      return tenant.call("PATCH", `/tenants/users/${id}/${index < users.length ? "deactivate" : "reactivate"}`);
    }),
  );
  await measureLinks(announcement);
  print();
  print(
    `At the end: ${mebibytes((await usage()).disk)} MiB of disk, ${server.memory()?.highest.toFixed(0)} MiB of memory at most`,
  );
}

interface Made {
  readonly id: string;
}

/** Measures what creating records costs. */
async function created<Result>(name: string, count: number, work: () => Promise<Result>): Promise<Result> {
  const before = await usage();
  const result = await work();
  await report(name, count, before);
  return result;
}

/** Agents that are connected hold memory, and cost processor time with their heartbeats. */
async function measureLinks(announcement: ServerAnnouncement): Promise<void> {
  const tenant = await makeBenchTenant(announcement, "Links");
  const { linkedGateways, linkedDevices } = counts;
  const shape = { gateways: linkedGateways, devices: linkedDevices, groups: 200, resources: 400, gatewaysOfEach: 5 };
  const facts = linkedFacts(shape);
  await seedFacts(announcement.database, tenant.id, facts);
  const gateways = inGroups(await armGateways(announcement.database, tenant.id, facts.gateways)).map(
    (group) => new SimulatedGateways(group),
  );
  const devices = inGroups(await armDevices(announcement.database, tenant.id, facts.devices)).map(
    (group) => new SimulatedDevices(group),
  );
  for (const [name, count, groups] of [
    ["connected gateways", linkedGateways, gateways],
    ["connected devices", linkedDevices, devices],
  ] as const) {
    await created(name, count, async () => {
      for (const group of groups) await group.connect(announcement.url);
      const holding = () => groups.reduce((sum, group) => sum + group.holding, 0);
      for (let held = -1; holding() !== held; ) {
        held = holding();
        await pause(2_000);
      }
    });
    await created(`the same, ${heartbeatSeconds} s of heartbeats`, count, async () => {
      for (let second = 0; second < heartbeatSeconds; second += 10) {
        for (const group of groups) group.heartbeat();
        await pause(10_000);
      }
    });
  }
  for (const group of [...gateways, ...devices]) group.cut();
}

/** Agents connect in groups: the server refuses more connections at a time than it can welcome in time. */
function inGroups<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const size = 50;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

interface Usage {
  readonly disk: number;
  readonly audit: number;
  readonly memory: number;
  readonly server: number;
  readonly postgres: number;
}

async function usage(): Promise<Usage> {
  await owner.query("VACUUM");
  const { rows } = await owner.query<{ disk: string; audit: string }>(
    `SELECT sum(pg_total_relation_size(oid)) AS disk,
            coalesce(sum(pg_total_relation_size(oid)) FILTER (WHERE relname LIKE 'audit%'), 0) AS audit
     FROM pg_class WHERE relkind IN ('r', 'm') AND relnamespace NOT IN ('pg_catalog'::regnamespace)`,
  );
  return {
    disk: Number(rows[0]?.disk),
    audit: Number(rows[0]?.audit),
    memory: server.memory()?.now ?? Number.NaN,
    server: server.processorSeconds() ?? Number.NaN,
    postgres: processorSecondsOfGroup(postgres.pid) ?? Number.NaN,
  };
}

async function report(name: string, count: number, before: Usage): Promise<void> {
  const after = await usage();
  const perThousand = (field: keyof Usage) => ((after[field] - before[field]) * 1_000) / count;
  const cells = [
    `${count.toLocaleString("en")} ${name}`,
    mebibytes(perThousand("disk")),
    mebibytes(perThousand("audit")),
    perThousand("memory").toFixed(1),
    perThousand("server").toFixed(2),
    perThousand("postgres").toFixed(2),
  ];
  print(`| ${cells.join(" | ")} |`);
}

async function make<Body extends object>(tenant: BenchTenant, kind: string, body: Body) {
  // One record for an object, a list of records for a list.
  return JSON.parse(
    await tenant.call("POST", `/tenants/${kind}`, JSON.stringify(body)),
  ) as Body extends readonly unknown[] ? Made[] : Made;
}

/** A valid WireGuard key of a device that does not exist. */
function keyOf(index: number): string {
  const key = Buffer.alloc(32, 1);
  key.writeUInt32BE(index);
  return key.toString("base64");
}

/** Calls a function for each item, for several items at the same time. */
async function each<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let index = next++; index < items.length; index = next++) {
        results[index] = await untilAvailable(() => work(items[index] as Item, index)); // the index is within the list
      }
    }),
  );
  return results;
}

/** Repeats a call to which a busy machine did not respond in time. */
async function untilAvailable<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let retries = 30; ; retries -= 1) {
    try {
      return await call();
    } catch (error) {
      if (retries === 0 || !String(error).includes("database_unavailable")) throw error;
      await pause(1_000);
    }
  }
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
