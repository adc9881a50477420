import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Database } from "../platform/db/database.ts";
import { createLog } from "../platform/log.ts";
import { isResealed, requestReseal } from "../platform/secrets/reseal.ts";
import { HeldTransaction } from "../testing/held-transaction.ts";
import { createDatabase, type TestDatabase } from "../testing/test-database.ts";
import { startTestServer, testMasterKey } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";
import { Reconciler } from "./reconciler.ts";
import { masterKeyRotation } from "./rotate-master-key.ts";

const masterKeys = { current: Buffer.alloc(32, 9), second: testMasterKey };
const log = createLog("silent");
let own: TestDatabase;
let database: Database;
let observer: pg.Client;

beforeEach(async () => {
  own = await createDatabase();
  const server = await startTestServer({ connection: own.connection });
  const { client } = await server.newTenant();
  await client.must.post("/tenants/webhooks", { name: "Hook", url: "https://example.com/hook" });
  await server.close();
  database = new Database({ connection: own.connection, poolSize: 4 });
  observer = new pg.Client(own.connection);
  await observer.connect();
});
afterEach(async () => {
  await database.close();
  await observer.end();
  await own.drop();
});

async function waitsForLock(): Promise<boolean> {
  const { rowCount } = await observer.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rowCount !== 0;
}

test("a rotation that waits for a lock ends at once at shutdown, and has not failed", async () => {
  await until("the server has ended", () =>
    requestReseal(database, masterKeys).then(
      () => true,
      () => false,
    ),
  );
  const held = await HeldTransaction.begin(own.connection, "SELECT FROM webhook_secrets FOR UPDATE");
  const failures: string[] = [];
  let isFinished = false;
  const finished = async () => {
    isFinished = true;
  };
  const [task] = masterKeyRotation({ database, masterKeys, finished, log });
  if (task === undefined) throw new Error("a second key is configured");
  const reconciler = new Reconciler({ ...task, log, failed: (name) => failures.push(name) });
  const run = reconciler.runNow();
  await until("it waits for the lock", waitsForLock);
  await reconciler.stop();
  await run;
  expect(await waitsForLock()).toBe(true);
  expect(failures).toEqual([]);
  await held.end();
  await until("the lock was granted", async () => !(await waitsForLock()));
  await database.close();
  expect(isFinished).toBe(false);
  database = new Database({ connection: own.connection, poolSize: 1 });
  expect(await isResealed(database, masterKeys)).toBe(false);
});
