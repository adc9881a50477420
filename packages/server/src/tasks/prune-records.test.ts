import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { AuditSigner, SignatureCheck } from "../platform/audit/signatures.ts";
import { verifyTenant } from "../platform/audit/verify-database.ts";
import { HeldTransaction } from "../testing/held-transaction.ts";
import { TestClock } from "../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant, testMasterKey } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";

const dayMs = 24 * 60 * 60_000;
const signatures = SignatureCheck.of(new AuditSigner(testMasterKey).publicKey);
let own: TestDatabase;
let owner: pg.Client;
let clock: TestClock;
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  own = await createDatabase();
  owner = new pg.Client(own.connection);
  await owner.connect();
  clock = new TestClock();
  const audit = { checkpointSeconds: 86_400, retentionDays: 30 };
  server = await startTestServer({ connection: own.connection, clock, settings: { audit } });
});
beforeEach(async () => {
  tenant = await server.newTenant();
});
afterAll(async () => {
  await Promise.all([server.close(), owner.end()]);
  await own.drop();
});

const prune = () => server.tasks.get("audit-retention")?.runNow();
const verify = () => verifyTenant(server.database, { tenantId: tenant.id, signatures });
const makeGroup = (name: string) => tenant.client.post("/tenants/groups", { name });
const eventsOf = async () => (await tenant.client.get("/tenants/events?limit=100")).body;

test("entries within the retention are not pruned", async () => {
  clock.advance(29 * dayMs);
  await makeGroup("Later");
  await prune();
  expect((await eventsOf()).total).toBe(6);
});

test("older entries are replaced by a signed stub and an entry, and the rest verifies", async () => {
  await server.tasks.get("audit-checkpoints")?.runNow();
  clock.advance(20 * dayMs);
  await makeGroup("Kept");
  clock.advance(11 * dayMs);
  await prune();
  const { data, total } = await eventsOf();
  expect(total).toBe(2);
  expect(data).toMatchObject([
    { position: 6, operation: "createGroup" },
    {
      position: 7,
      operation: "pruneEvents",
      actor: { type: "system", name: "Gatehouse" },
      target: { type: "audit-record", id: tenant.id },
      before: { prunedThrough: 0 },
      after: { prunedThrough: 5, events: 5 },
    },
  ]);
  expect(await verify()).toMatchObject({ findings: [], prunedThrough: 5, events: 2, head: { position: 7 } });
  // Another tenant's entries must not affect this tenant.
  clock.advance(31 * dayMs);
  await makeGroup("Newest");
  await prune();
  expect(await verify()).toMatchObject({ findings: [], prunedThrough: 7, events: 2 });
});

test("the newest batch is never pruned, and the record is not pruned repeatedly", async () => {
  clock.advance(100 * dayMs);
  await prune();
  expect(await eventsOf()).toMatchObject({ total: 5 });
  await makeGroup("Newer");
  for (let round = 0; round < 5; round += 1) {
    clock.advance(100 * dayMs);
    await prune();
  }
  const { data } = await eventsOf();
  expect(data.map(({ operation }: { operation: string }) => operation)).toEqual(["pruneEvents", "pruneEvents"]);
  expect(await verify()).toMatchObject({ findings: [] });
});

test("a clock that is far ahead prunes nothing, and is trusted again 12 hours after its correction", async () => {
  clock.correct(365 * dayMs);
  await makeGroup("Future-dated");
  await prune();
  expect((await eventsOf()).total).toBe(6);
  clock.correct(-365 * dayMs);
  await prune();
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  await prune();
  expect(await verify()).toMatchObject({ findings: [], prunedThrough: 5 });
});

function otherReplica() {
  const audit = { checkpointSeconds: 86_400, retentionDays: 30 };
  const { connection } = own;
  return startTestServer({ connection, clock, operatorKey: server.operatorKey, settings: { audit } });
}

test("a server that was just started prunes nothing, because its clock may be wrong", async () => {
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  const other = await otherReplica();
  await other.tasks.get("audit-retention")?.runNow();
  expect((await eventsOf()).total).toBe(6);
  clock.advance(dayMs / 2);
  await other.tasks.get("audit-retention")?.runNow();
  await other.close();
  expect(await verify()).toMatchObject({ findings: [], prunedThrough: 5 });
});

const hourMs = 60 * 60_000;

/** Runs another server for some hours, in which it observes the clock like its background task. */
async function runFor(hours: number): Promise<void> {
  const other = await otherReplica();
  for (let hour = 0; hour < hours; hour += 1) {
    await other.tasks.get("clock-observation")?.runNow();
    clock.advance(hourMs);
  }
  await other.tasks.get("clock-observation")?.runNow();
  await other.tasks.get("audit-retention")?.runNow();
  await other.close();
}

test("servers that restart every few hours prune, because the time before a restart counts", async () => {
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  await runFor(8);
  expect((await eventsOf()).total).toBe(6);
  clock.advance(5 * 60_000);
  await runFor(4);
  expect(await verify()).toMatchObject({ findings: [], prunedThrough: 5 });
});

test.each([
  ["a jump ahead", [365 * dayMs], [4]],
  ["a jump back", [-2 * hourMs], [4]],
  ["several short jumps", [hourMs / 2, hourMs / 2, hourMs / 2], [2, 1, 1]],
])("%s while no server runs counts as a jump", async (_what, jumpsMs, hours) => {
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  await runFor(8);
  for (const [index, jumpMs] of jumpsMs.entries()) {
    clock.correct(jumpMs);
    await runFor(hours[index] ?? 0);
  }
  expect((await eventsOf()).total).toBe(6);
  for (const jumpMs of jumpsMs) clock.correct(-jumpMs);
});

test("two replicas that prune concurrently prune once", async () => {
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  const other = await otherReplica();
  clock.advance(dayMs);
  await Promise.all([prune(), other.tasks.get("audit-retention")?.runNow()]);
  await other.close();
  expect(await eventsOf()).toMatchObject({ total: 2 });
  expect(await verify()).toMatchObject({ findings: [], prunedThrough: 5 });
});

test("a tenant with a busy lock does not block the pruning of other records", async () => {
  const made = [await server.newTenant(), await server.newTenant(), await server.newTenant()];
  const [busy, ...others] = made.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  if (busy === undefined) throw new Error("no tenant");
  clock.advance(31 * dayMs);
  for (const { client } of made) await client.must.post("/tenants/groups", { name: "Newer" });
  const total = async ({ client }: TestTenant) => (await client.must.get("/tenants/events?limit=1")).body.total;
  const held = await HeldTransaction.ofTenant(own.connection, busy.id);
  try {
    await prune();
    for (const other of others) expect(await total(other)).toBe(2);
    expect(await total(busy)).toBe(6);
  } finally {
    await held.end();
  }
  await until("the other record is pruned", async () => {
    await prune();
    return (await total(busy)) === 2;
  });
});

test("a long record is pruned in steps", async () => {
  const { rows } = await owner.query("SELECT generation::int FROM tenant_generations WHERE tenant_id = $1", [
    tenant.id,
  ]);
  expect(rows).toEqual([{ generation: 1 }]);
  for (let index = 0; index < 60; index += 1) {
    const users = Array.from({ length: 100 }, (_none, at) => ({ email: `person-${index}-${at}@example.com` }));
    await tenant.client.must.post("/tenants/users", users);
  }
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  await prune();
  const { data } = await eventsOf();
  expect(data.map(({ operation }: { operation: string }) => operation)).toEqual([
    "createGroup",
    "pruneEvents",
    "pruneEvents",
  ]);
  expect(await verify()).toMatchObject({ findings: [], prunedThrough: 6005 });
});

test.each([
  ["its position", "position = position + 1"],
  ["its hash", "hash = sha256('')"],
  ["its time", "created_at = created_at - interval '1 day'"],
  ["its signature", "signature = set_byte(signature, 3, (get_byte(signature, 3) + 1) % 256)"],
])("a stub with a change of %s is detected", async (_what, change) => {
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  await prune();
  await owner.query(`UPDATE audit_stubs SET ${change} WHERE tenant_id = $1`, [tenant.id]);
  const report = await verify();
  expect(report?.findings).toContainEqual(expect.objectContaining({ problem: "stub" }));
});

test("entries that were deleted beyond the stub are reported as missing", async () => {
  clock.advance(31 * dayMs);
  await makeGroup("Newer");
  await prune();
  await owner.query("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 6", [tenant.id]);
  await owner.query("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position = 6", [tenant.id]);
  expect((await verify())?.findings).toMatchObject([{ problem: "missing", position: 6 }, { problem: "history" }]);
  await owner.query("DELETE FROM audit_stubs WHERE tenant_id = $1", [tenant.id]);
  expect((await verify())?.findings[0]).toMatchObject({ problem: "missing", position: 1 });
});
