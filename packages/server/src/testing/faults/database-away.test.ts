/** The behaviour towards callers while PostgreSQL is unavailable or hangs, and the automatic recovery. */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../test-database.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../test-server.ts";
import { until } from "../until.ts";
import { DatabaseProxy } from "./database-proxy.ts";

const answerTimeoutMs = 500;
const connectTimeoutMs = 500;
/**
 * The time limit of a request while the database is unavailable. The request tries to connect once, and does not wait
 * for others. The limit leaves time for a busy machine.
 */
const atOnceMs = 5_000;
/**
 * The time limit of a request while the database hangs: the limits for an answer and a connection, for both the key and
 * the query.
 */
const boundMs = 2 * (answerTimeoutMs + connectTimeoutMs) + atOnceMs;

let own: TestDatabase;
let proxy: DatabaseProxy;
let administrator: pg.Client;
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  own = await createDatabase();
  administrator = new pg.Client(own.connection);
  await administrator.connect();
  const started = await DatabaseProxy.start(own.connection);
  proxy = started.proxy;
  server = await startTestServer({
    connection: started.connection,
    mayFail: true,
    settings: { poolSize: 4, databaseLimits: { answerTimeoutMs, connectTimeoutMs } },
  });
  await until("there is a tenant", async () => {
    const made = await server.newTenant().catch(() => undefined);
    if (made !== undefined) tenant = made;
    return made !== undefined;
  });
});
beforeEach(async () => {
  await proxy.restore();
  await expectServiceAgain();
});
afterAll(async () => {
  await proxy.restore();
  await server.close();
  await proxy.close();
  await administrator.end();
  await own.drop();
});

const newProtocol = () => ({ networkProtocols: [{ protocol: "TCP", port: "8443" }] });

/**
 * Sends one request of each kind: a read, a list, a command, a request of the operator, and one with an unknown key.
 */
function requests(): Promise<TestReply>[] {
  return [
    tenant.client.get("/tenants/protocols"),
    tenant.client.get("/tenants/resources"),
    tenant.client.post("/tenants/protocols", newProtocol()),
    server.operator.get("/operator/tenants"),
    server.client("a key that the cache does not know").get("/tenants/protocols"),
  ];
}

async function expectUnavailable(withinMs: number): Promise<void> {
  const startedAt = performance.now();
  for (const reply of await Promise.all(requests())) {
    expect(reply).toMatchObject({ status: 503, body: { code: "database_unavailable" } });
    expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0);
  }
  expect(performance.now() - startedAt).toBeLessThan(withinMs);
}

async function expectHealth(ready: number): Promise<void> {
  const anybody = server.client(undefined);
  expect((await anybody.get("/healthz")).status).toBe(200);
  expect((await anybody.get("/readyz")).status).toBe(ready);
}

async function expectServiceAgain(): Promise<void> {
  await expect.poll(async () => (await server.client(undefined).get("/readyz")).status).toBe(200);
  // An answer of a busy database can take longer than the short time limits allow.
  await expect
    .poll(async () => (await Promise.all(requests())).map(({ status }) => status))
    .toEqual([200, 200, 201, 200, 401]);
}

describe("while the database is unavailable", () => {
  test("requests are answered 503 at once, and the service recovers by itself", async () => {
    await proxy.cut();
    await expectUnavailable(atOnceMs);
    await expectHealth(503);
    await expectUnavailable(atOnceMs);
    await proxy.restore();
    await expectServiceAgain();
  });

  test("broken connections are replaced, both busy and idle ones", async () => {
    for (let round = 0; round < 5; round += 1) {
      const running = requests();
      proxy.breakConnections();
      for (const { status } of await Promise.all(running)) expect([200, 201, 401, 503]).toContain(status);
    }
    await expectServiceAgain();
  });

  test("sessions that the database server terminates are replaced too", async () => {
    const running = requests();
    await administrator.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    for (const { status } of await Promise.all(running)) expect([200, 201, 401, 503]).toContain(status);
    await expectServiceAgain();
  });

  test("the notification channel reconnects too", async () => {
    await proxy.cut();
    await proxy.restore();
    await until("somebody listens", async () => {
      const { rowCount } = await administrator.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gatehouse notifications' AND state = 'idle'",
      );
      return rowCount === 1;
    });
  });
});

describe("while the database hangs", () => {
  test("requests are answered 503 within a time limit, and the service recovers by itself", async () => {
    proxy.hang();
    await expectUnavailable(boundMs);
    await expectUnavailable(boundMs);
    const startedAt = performance.now();
    await expectHealth(503);
    expect(performance.now() - startedAt).toBeLessThan(boundMs);
    await proxy.restore();
    await expectServiceAgain();
  });

  test("many requests are answered within the same time limit", async () => {
    proxy.hang();
    const startedAt = performance.now();
    const replies = await Promise.all(Array.from({ length: 200 }, () => tenant.client.get("/tenants/protocols")));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([503]));
    expect(performance.now() - startedAt).toBeLessThan(boundMs);
  });
});

describe("a database whose migrations differ from this version's", () => {
  test.each([
    ["older", "UPDATE schema_migrations SET version = -version", "UPDATE schema_migrations SET version = -version"],
    [
      "newer",
      "INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, '9999_later.sql', '')",
      "DELETE FROM schema_migrations WHERE version = 9999",
    ],
  ])("is not ready when it is %s", async (_which, change, back) => {
    await administrator.query(change);
    await expectHealth(503);
    await administrator.query(back);
    await expect.poll(async () => (await server.client(undefined).get("/readyz")).status).toBe(200);
  });
});
