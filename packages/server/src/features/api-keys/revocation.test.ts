/** Two replicas over one database: a key that one revokes is refused by the other within a second. */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

/** A second, on a machine that may be ten times as busy as others. */
const allowedMs = 10_000;
let database: TestDatabase;
let administrator: pg.Client;
let first: TestServer;
let second: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  database = await createDatabase();
  administrator = new pg.Client(database.connection);
  await administrator.connect();
  first = await startTestServer({ connection: database.connection });
  second = await startTestServer({ connection: database.connection, operatorKey: first.operatorKey });
});
beforeEach(async () => {
  tenant = await first.newTenant();
});
afterAll(async () => {
  await Promise.all([first.close(), second.close()]);
  await administrator.end();
  await database.drop();
});

/** Terminates the notification channels, which reconnect after a second. */
async function cutNotifications(): Promise<void> {
  const { rowCount } = await administrator.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gatehouse notifications' AND datname = current_database()",
  );
  expect(rowCount).toBe(2);
}

async function untilNotificationsAreBack(): Promise<void> {
  await until("both replicas listen", async () => {
    const { rows } = await administrator.query(
      "SELECT count(*)::int AS listening FROM pg_stat_activity WHERE application_name = 'gatehouse notifications' AND datname = current_database() AND query ~ '^(LISTEN|NOTIFY)'",
    );
    return rows[0].listening === 2;
  });
}

async function expectToEnd(key: string, end: () => Promise<unknown>): Promise<void> {
  const client = second.client(key);
  for (let count = 0; count < 3; count += 1) expect((await client.get("/tenants/protocols")).status).toBe(200);
  await end();
  const tookMs = await until("the second replica refuses", async () => {
    return (await client.get("/tenants/protocols")).status === 401;
  });
  expect(tookMs).toBeLessThan(allowedMs);
}

describe.each([
  ["told at once", () => Promise.resolve()],
  ["by the timer alone", cutNotifications],
])("on a second replica, %s", (_how, prepare) => {
  beforeEach(untilNotificationsAreBack);

  test("a deleted key ends within a second", async () => {
    const made = await tenant.client.post("/tenants/api-keys", { name: "Short", permissions: ["protocols:read"] });
    await prepare();
    await expectToEnd(made.body.key, () => tenant.client.delete(`/tenants/api-keys/${made.body.id}`));
  });

  test("a key that was rotated without grace ends within a second", async () => {
    const made = await tenant.client.post("/tenants/api-keys", { name: "Short", permissions: ["protocols:read"] });
    await prepare();
    const rotate = () => tenant.client.post(`/tenants/api-keys/${made.body.id}/rotate`, { graceSeconds: 0 });
    await expectToEnd(made.body.key, rotate);
  });

  test("the keys of a deleted tenant end within a second", async () => {
    await prepare();
    await expectToEnd(tenant.key, () => first.operator.delete(`/operator/tenants/${tenant.id}`));
  });
});
