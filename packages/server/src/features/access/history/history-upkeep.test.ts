import { finish } from "@gatehouse/policy/work";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { unique } from "../../../testing/operations/test-records.ts";
import { readEffects } from "../../../testing/stored-effects.queries.ts";
import { TestClock } from "../../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../../testing/test-database.ts";
import { startTestServer, type TestServer } from "../../../testing/test-server.ts";
import { readAllFacts } from "../models/facts.queries.ts";
import { readHistoryAfter, readHistoryAt } from "./history.queries.ts";
import { factsOfHistory } from "./history.ts";

const dayMs = 24 * 60 * 60_000;
const clock = new TestClock();
let server: TestServer;
let database: TestDatabase;

/** Uses its own database, because the test drops a table and counts pruned rows. */
beforeAll(async () => {
  database = await createDatabase();
  const audit = { checkpointSeconds: 86_400, retentionDays: 30 };
  server = await startTestServer({ connection: database.connection, clock, settings: { audit } });
});
afterAll(async () => {
  await server.close();
  await database.drop();
});

function read<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  return server.database.readThrough({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
}

test("retention deletes old versions together with old entries, but keeps the last version of each record", async () => {
  const tenant = await server.newTenant();
  const change = async (path: string, name: string) =>
    expect((await tenant.client.put(path, { name })).status).toBe(200);
  const { body } = await tenant.client.post("/tenants/groups", { name: "First" });
  const path = `/tenants/groups/${body.id}`;
  const gone = await tenant.client.post("/tenants/groups", { name: "Gone" });
  await change(path, "Second");
  expect((await tenant.client.delete(`/tenants/groups/${gone.body.id}`)).status).toBe(204);
  const cut = clock.now().toISOString();
  clock.advance(20 * dayMs);
  await change(path, "Third");
  await change(path, "Fourth");
  clock.advance(15 * dayMs);
  await server.tasks.get("audit-retention")?.runNow();

  const { versions: rows } = await read(tenant.id, (tx) => readHistoryAfter(tx, 0));
  const names = rows.flatMap(({ record, facts }) => (record === body.id ? [(facts as { name: string }).name] : []));
  expect(names).toEqual(["Second", "Third", "Fourth"]);
  expect(rows.filter(({ record }) => record === gone.body.id)).toEqual([]);
  const [first] = await read(tenant.id, (tx) => readEffects(tx, 0));
  expect(first?.generation).toBe(5);
  const ask = (at: string) => tenant.client.get(`/tenants/access?user=owner@example.com&at=${at}`);
  expect((await ask(cut)).status).toBe(200);
  expect((await ask("2000-01-01T00:00Z")).body).toMatchObject({ code: "before_history" });
  const { facts } = await read(tenant.id, readAllFacts);
  const kept = finish(factsOfHistory(await read(tenant.id, (tx) => readHistoryAt(tx, 7))));
  expect(kept.groups).toHaveLength(facts.groups.length);
});

test("an event before the start of the history has no effect on record", async () => {
  const tenant = await server.newTenant();
  const earlier = await tenant.client.post("/tenants/groups", { name: unique("Group") });
  const owner = new pg.Client(database.connection);
  await owner.connect();
  try {
    // A database that is older than the history has one row for the start of the history, without a summary.
    await owner.query("DELETE FROM access_effects WHERE tenant_id = $1 AND generation < 2", [tenant.id]);
    await owner.query("UPDATE access_effects SET summary = NULL WHERE tenant_id = $1", [tenant.id]);
  } finally {
    await owner.end();
  }
  const event = earlier.headers["gatehouse-event"] ?? "none";
  const refused = await tenant.client.get(`/tenants/events/${event}/effect`);
  expect(refused.status).toBe(404);
  expect(refused.body.detail).toContain("before effects on access were stored");
  const later = await tenant.client.post("/tenants/groups", { name: unique("Group") });
  expect((await tenant.client.get(`/tenants/events/${later.headers["gatehouse-event"]}/effect`)).status).toBe(200);
});
