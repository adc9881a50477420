/** A database URL with two hosts, of which the standby is promoted while requests run. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "@gatehouse/embedded-postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { migrate } from "../../platform/db/migrations.ts";
import { connectionOf } from "../../platform/db/primary-locator.ts";
import { startTestServer, type TestServer, type TestTenant } from "../test-server.ts";
import { until } from "../until.ts";

let folder: string;
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let server: TestServer;
let tenant: TestTenant;
let url: string;

/** Durability against power loss is not the subject. */
const quick = { fsync: "off", full_page_writes: "off" };

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "gatehouse-promotion-"));
  // If the tests run as root, PostgreSQL runs as another user, which must be able to enter the folder.
  chmodSync(folder, 0o711);
  const first = path.join(folder, "a");
  const second = path.join(folder, "b");
  primary = await start(first, {});
  await migrate({ ...primary.connection, ssl: false });
  await primary.stop();
  execFileSync("cp", ["-a", first, second]);
  writeFileSync(path.join(second, "postgres", "standby.signal"), "");
  // Each commit waits until the standby has it.
  primary = await start(first, { synchronous_standby_names: "*" });
  const { host, port, user } = primary.connection;
  standby = await start(second, { primary_conninfo: `host='${host}' port=${port} user=${user}` });
  const hosts = [primary, standby].map(({ connection }) => `${encodeURIComponent(connection.host)}:${connection.port}`);
  url = `postgres://${user}@${hosts.join(",")}/${primary.connection.database}?target_session_attrs=read-write`;
  server = await startTestServer({
    connection: { ...connectionOf(url), ssl: false },
    mayFail: true,
    settings: { databaseLimits: { connectTimeoutMs: 2_000 } },
  });
  tenant = await server.newTenant();
});

afterAll(async () => {
  await server?.close();
  await standby?.stop();
  await primary?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function start(dataDir: string, settings: Readonly<Record<string, string>>): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir, log: () => undefined, settings: { ...quick, ...settings } });
}

async function promote(): Promise<void> {
  const client = new pg.Client({ ...standby.connection, ssl: false });
  await client.connect();
  await client.query("SELECT pg_promote(true)");
  await client.end();
}

test("a promotion under load loses no acknowledged write, and callers get 503 until it is over", async () => {
  const acknowledged: string[] = [];
  const refusals: { readonly status: number; readonly retryAfter: string | undefined }[] = [];
  let stopped = false;
  const write = async (worker: number) => {
    for (let count = 0; !stopped; count += 1) {
      const name = `Group ${worker} ${count}`;
      // A repeated request is performed once, so an unknown outcome is resolved by repeating it.
      for (let status = 0; status !== 201 && !stopped; ) {
        const reply = await tenant.client.post("/tenants/groups", { name, roles: [] }, { "idempotency-key": name });
        status = reply.status;
        if (status === 201) acknowledged.push(name);
        else refusals.push({ status, retryAfter: reply.headers["retry-after"] });
      }
    }
  };
  const workers = [0, 1, 2, 3].map(write);
  const wanted = budgeted(1_000, 50);
  try {
    await until("writes are acknowledged", () => acknowledged.length >= wanted);
    await primary.stop();
    await until("callers notice that the primary is gone", () => refusals.length > 0);
    await promote();
    const before = acknowledged.length;
    await until("the promoted standby takes writes", () => acknowledged.length >= before + wanted);
  } finally {
    stopped = true;
    await Promise.all(workers);
  }

  expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([503]));
  expect(refusals.every(({ retryAfter }) => Number(retryAfter) > 0)).toBe(true);
  const stored = new Set<string>();
  for (let offset = 0; ; offset += 100) {
    const { body } = await tenant.client.get(`/tenants/groups?limit=100&offset=${offset}`);
    for (const { name } of body.data) stored.add(name);
    if (body.data.length < 100) break;
  }
  expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
  expect(acknowledged).toHaveLength(new Set(acknowledged).size);
});

test("a previous primary that returns without its successor's changes gets no connections", async () => {
  primary = await start(path.join(folder, "a"), {});
  const client = new pg.Client({ ...connectionOf(url), ssl: false });
  await client.connect();
  const { rows } = await client.query("SHOW unix_socket_directories");
  await client.end();
  expect(rows[0]?.unix_socket_directories).toContain(standby.connection.host);
});
