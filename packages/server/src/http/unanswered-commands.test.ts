/** Commands whose clients leave, or get an error, before the outcome is known. */
import { connect } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { DatabaseProxy } from "../testing/faults/database-proxy.ts";
import { HeldTransaction } from "../testing/held-transaction.ts";
import { createDatabase, type TestDatabase } from "../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";

const answerTimeoutMs = 1_000;
let own: TestDatabase;
let proxy: DatabaseProxy;
let observer: pg.Client;
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  own = await createDatabase();
  observer = new pg.Client(own.connection);
  await observer.connect();
  const started = await DatabaseProxy.start(own.connection);
  proxy = started.proxy;
  const { connection } = started;
  server = await startTestServer({ connection, mayFail: true, settings: { databaseLimits: { answerTimeoutMs } } });
});
beforeEach(async () => {
  tenant = await server.newTenant();
});
afterAll(async () => {
  await server.close();
  await proxy.close();
  await observer.end();
  await own.drop();
});

/** Holds the lock that a command takes with its last statement, which is sent together with COMMIT. */
function holdGeneration(): Promise<HeldTransaction> {
  const text = "SELECT FROM tenant_generations WHERE tenant_id = $1 FOR UPDATE";
  return HeldTransaction.begin(own.connection, text, tenant.id);
}

const protocol = (name: string) => ({ name, networkProtocols: [{ protocol: "TCP", port: "8443" }] });

async function isStored(name: string): Promise<boolean> {
  const text = "SELECT FROM protocols WHERE tenant_id = $1 AND name = $2";
  return (await observer.query(text, [tenant.id, name])).rowCount === 1;
}

/** Whether a command waits in its last statement, `audit.append`. Background tasks of the tenant wait in others. */
async function isWaiting(): Promise<boolean> {
  const { rowCount } = await observer.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'gatehouse' AND wait_event_type = 'Lock'
       AND query LIKE 'WITH details AS%'`,
  );
  return rowCount !== 0;
}

test("a command whose commit was not answered in time can commit, and its error does not deny that", async () => {
  const held = await holdGeneration();
  const send = () => tenant.client.post("/tenants/protocols", protocol("Late"), { "idempotency-key": tenant.id });
  const sent = send();
  await until("the command waits", isWaiting);
  // The database has received COMMIT, and does not notice that the server closes the connection.
  proxy.hang();
  const refused = await sent;
  expect(refused).toMatchObject({ status: 503, body: { code: "database_unavailable" } });
  expect(refused.body.detail).not.toMatch(/nothing was changed/i);
  await held.end();
  await until("the command has committed", () => isStored("Late"));
  await proxy.restore();
  // The remedy of the error: the repeated request returns the outcome.
  const repeated = await send();
  expect(repeated).toMatchObject({ status: 201, headers: { "idempotent-replayed": "true" } });
});

test("a command that is waiting for a lock commits although its client disconnects", async () => {
  const held = await holdGeneration();
  const url = new URL(await server.listen());
  const body = JSON.stringify(protocol("Left"));
  const socket = connect(Number(url.port), url.hostname);
  socket.write(
    `POST /tenants/protocols HTTP/1.1\r\nHost: ${url.host}\r\napikey: ${tenant.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until("the command waits", isWaiting);
  socket.destroy();
  await held.end();
  await until("the command has committed", () => isStored("Left"));
});
