/**
 * The edits of the security review, made by hand with the rights of a superuser. Each must be found, and none must be
 * signed by the running server.
 */
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { acceptHeadsIn } from "./accept-audit-head.ts";
import { readConfig } from "./config.ts";
import { headsFileName } from "./platform/audit/signed-heads.ts";
import { Database } from "./platform/db/database.ts";
import { createLog } from "./platform/log.ts";
import { HeldTransaction } from "./testing/held-transaction.ts";
import { RecordForger, recordEdits } from "./testing/record-edits.queries.ts";
import { copyTenant } from "./testing/tenant-copy.queries.ts";
import { copyDatabase, createDatabase, type TestDatabase } from "./testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant, testMasterKey } from "./testing/test-server.ts";
import { until } from "./testing/until.ts";
import { type TenantReport, type VerifyAuditOptions, verifyRecords } from "./verify-audit.ts";

const log = createLog("silent");
/** The errors in the server's log. */
const errors: Readonly<Record<string, unknown>>[] = [];
const serverLog = createLog("error", { write: (line) => void errors.push(JSON.parse(line)) });
let folder: string;
let own: TestDatabase;
let owner: pg.Client;
let server: TestServer;
let tenant: TestTenant;

const configOf = (dataDir: string) =>
  readConfig({ flags: { dataDir, masterKey: testMasterKey.toString("base64") }, environment: {} });
const start = (database: TestDatabase) =>
  startTestServer({
    connection: database.connection,
    settings: {
      auditHeadsFile: path.join(folder, headsFileName),
      audit: { checkpointSeconds: 86_400, retentionDays: undefined },
      log: serverLog,
      metrics: true,
    },
  });
/** The samples of the alert's metric. */
const alarm = async () => /^gatehouse_audit_contradictions.*$/gm.exec((await server.metrics?.text()) ?? "")?.[0];
const sign = () => server.tasks.get("audit-checkpoints")?.runNow();
const sql = async (text: string, ...values: unknown[]) => (await owner.query(text, values)).rows;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-test-"));
  own = await createDatabase();
  owner = new pg.Client(own.connection);
  await owner.connect();
  server = await start(own);
});
afterAll(async () => {
  await Promise.all([server.close(), owner.end()]);
  await own.drop();
  await rm(folder, { recursive: true });
});

/** A tenant whose record is signed through position 9, and has an unsigned entry at position 10. */
async function signedTenant(): Promise<TestTenant> {
  const made = await server.newTenant();
  const { must } = made.client;
  for (const name of ["One", "Two"]) await must.post("/tenants/groups", { name });
  await must.post("/tenants/policies", { name: "Three", type: "PRIVATE", action: false });
  await must.post("/tenants/policies", { name: "Four", type: "PRIVATE", action: true });
  await sign();
  await made.client.post("/tenants/groups", { name: "Five" });
  return made;
}

async function reportsOf(
  database: Database,
  options: VerifyAuditOptions = {},
  dataDir = folder,
): Promise<readonly TenantReport[]> {
  const reports: TenantReport[] = [];
  for await (const report of verifyRecords(database, configOf(dataDir), log, new AbortController().signal, options)) {
    reports.push(report);
  }
  return reports;
}

const problemsOf = async (options?: VerifyAuditOptions, dataDir?: string) =>
  (await reportsOf(server.database, options, dataDir)).flatMap(({ findings }) => findings);

/** Edits after which the running server must not sign the record: they contradict the head that it signed. */
const contradicting = new Set([5, 6, 7, 8, 11, 12, 13, 14, 24]);

test("an unchanged database has no problem", async () => {
  tenant = await signedTenant();
  expect(await problemsOf({ live: true })).toEqual([]);
});

test.each(recordEdits)("edit $name is found, and the running server does not sign it", async (each) => {
  const { name, edit, alone, message = /./ } = each;
  tenant = await signedTenant();
  const restore = await copyTenant(owner, tenant.id);
  try {
    await edit(new RecordForger(owner, tenant));
    expect(await problemsOf({ live: true })).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(message) }),
    );
    const empty = path.join(folder, randomBytes(4).toString("hex"));
    expect((await problemsOf({ live: true }, empty)).length > 0).toBe(alone);
    if (contradicting.has(Number.parseInt(name, 10))) {
      const before = await sql("SELECT position, hash FROM audit_checkpoints WHERE tenant_id = $1", tenant.id);
      expect(await alarm()).toBe("gatehouse_audit_contradictions 0");
      errors.length = 0;
      await sign();
      expect(await sql("SELECT position, hash FROM audit_checkpoints WHERE tenant_id = $1", tenant.id)).toEqual(before);
      expect(await alarm()).toBe("gatehouse_audit_contradictions 1");
      const message = "audit record contradicts its signed head; refusing to sign it; run gatehouse audit verify";
      const logged = { msg: message, tenantId: tenant.id, position: 9, reason: expect.stringMatching(/signed|gone/) };
      expect(errors).toContainEqual(expect.objectContaining(logged));
      const contradicted = server.runner.audit.guard.contradictions.map(({ tenantId }) => tenantId);
      expect(contradicted).toEqual([tenant.id]);
      if (!name.startsWith("13")) {
        const refused = await tenant.client.get("/tenants/events/export");
        expect(refused).toMatchObject({ status: 409, body: { code: "audit_record_contradicted" } });
      }
      expect((await problemsOf({ live: true })).length).toBeGreaterThan(0);
    }
  } finally {
    await restore();
  }
  expect(await problemsOf({ live: true })).toEqual([]);
  // The alert ends once the record matches its signed head again.
  if (contradicting.has(Number.parseInt(name, 10))) {
    await sign();
    expect(await alarm()).toBe("gatehouse_audit_contradictions 0");
  }
  // Each verification reads the records of all tenants.
  await server.operator.must.delete(`/operator/tenants/${tenant.id}`);
});

test("a record that cannot be signed does not block the signing of others", async () => {
  const tenants = [await server.newTenant(), await server.newTenant(), await server.newTenant()];
  const [, stuck] = tenants.map(({ id }) => id).toSorted();
  await sql(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
     CREATE TRIGGER refuse BEFORE INSERT ON audit_checkpoints FOR EACH ROW WHEN (NEW.tenant_id = '${stuck}')
     EXECUTE FUNCTION refuse()`,
  );
  const signed = async () =>
    (
      await sql(
        "SELECT tenant_id FROM audit_checkpoints WHERE tenant_id = ANY ($1)",
        tenants.map(({ id }) => id),
      )
    ).length;
  errors.length = 0;
  await sign();
  expect(await signed()).toBe(2);
  const msg = "failed to sign the head of an audit record; will retry";
  expect(errors).toContainEqual(expect.objectContaining({ msg, tenantId: stuck }));
  await sql("DROP FUNCTION refuse CASCADE");
  await until("the last record is signed", async () => {
    await sign();
    return (await signed()) === 3;
  });
});

test("a tenant with a busy lock does not block the sealing and signing of other records", async () => {
  const made = [await server.newTenant(), await server.newTenant(), await server.newTenant()];
  const ids = made.map(({ id }) => id).toSorted();
  const [busy = "", ...others] = ids;
  await sql("UPDATE tenant_generations SET history_sealed = false WHERE tenant_id = ANY ($1)", ids);
  const held = await HeldTransaction.ofTenant(own.connection, busy);
  const open = "SELECT tenant_id AS id FROM tenant_generations WHERE NOT history_sealed AND tenant_id = ANY ($1)";
  try {
    await sign();
    expect(await sql(open, ids)).toEqual([{ id: busy }]);
    expect(await sql("SELECT FROM audit_checkpoints WHERE tenant_id = ANY ($1)", others)).toHaveLength(2);
  } finally {
    await held.end();
  }
  await until("the other history is sealed", async () => {
    await sign();
    return (await sql(open, ids)).length === 0;
  });
});

test("a record whose history cannot be sealed does not block the sealing and signing of others", async () => {
  const made = [await server.newTenant(), await server.newTenant(), await server.newTenant()];
  const ids = made.map(({ id }) => id).toSorted();
  const [stuck, other, signed] = ids;
  await sql("UPDATE tenant_generations SET history_sealed = false WHERE tenant_id = ANY ($1)", [stuck, other]);
  await sql(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
     CREATE TRIGGER refuse BEFORE INSERT ON audit_events FOR EACH ROW WHEN (NEW.tenant_id = '${stuck}')
     EXECUTE FUNCTION refuse()`,
  );
  errors.length = 0;
  await sign();
  await sql("DROP FUNCTION refuse CASCADE");
  const open = "SELECT tenant_id AS id FROM tenant_generations WHERE NOT history_sealed AND tenant_id = ANY ($1)";
  expect(await sql(open, ids)).toEqual([{ id: stuck }]);
  expect(await sql("SELECT FROM audit_checkpoints WHERE tenant_id = ANY ($1)", [other, signed])).toHaveLength(2);
  const msg = "failed to seal the access history of a tenant; will retry";
  expect(errors).toContainEqual(expect.objectContaining({ msg, tenantId: stuck }));
  await until("the last history is sealed", async () => {
    await sign();
    return (await sql(open, ids)).length === 0;
  });
});

test("a record that cannot be read does not block the verification of others", async () => {
  const made = [await server.newTenant(), await server.newTenant()];
  const [stuck, other] = made.map(({ id }) => id).toSorted();
  await sql(
    `CREATE FUNCTION refuse(tenant uuid) RETURNS boolean LANGUAGE plpgsql
       AS 'BEGIN IF tenant = ''${stuck}'' THEN RAISE EXCEPTION ''refused''; END IF; RETURN true; END';
     CREATE POLICY refuse ON audit_events AS RESTRICTIVE USING (refuse(tenant_id))`,
  );
  const reports = await reportsOf(server.database).finally(() => sql("DROP FUNCTION refuse CASCADE"));
  expect(reports.find(({ tenantId }) => tenantId === stuck)).toMatchObject({
    problems: 1,
    findings: [{ problem: "unverified", message: expect.stringContaining("refused") }],
  });
  expect(reports.find(({ tenantId }) => tenantId === other)).toMatchObject({ problems: 0 });
});

test("one entry covers the effects and facts of a record from before they were chained", async () => {
  tenant = await server.newTenant();
  await tenant.client.post("/tenants/groups", { name: "Before the upgrade" });
  await sql("UPDATE audit_seals SET details = NULL WHERE tenant_id = $1", tenant.id);
  await new RecordForger(owner, tenant).reseal();
  await sql("UPDATE tenant_generations SET history_sealed = false WHERE tenant_id = $1", tenant.id);
  expect(await problemsOf()).toMatchObject([{ problem: "history" }, { problem: "history" }]);
  await sign();
  await tenant.client.post("/tenants/groups", { name: "After the upgrade" });
  expect(await problemsOf({ live: true })).toEqual([]);
  const { body } = await tenant.client.get("/tenants/events?filter[operation]=sealAccessHistory");
  expect(body.data).toMatchObject([{ actor: { type: "system" }, after: { historyThrough: 2 } }]);

  const restore = await copyTenant(owner, tenant.id);
  await sql("UPDATE access_history SET facts = NULL WHERE tenant_id = $1 AND generation = 2", tenant.id);
  expect(await problemsOf()).toMatchObject([{ problem: "history" }]);
  await restore();
  expect(await problemsOf()).toEqual([]);
});

test("edit 22: a database that was rolled back to an older copy is found, and accepted only with a reason", async () => {
  const database = await createDatabase();
  const heads = path.join(folder, "rolled-back");
  const settings = { auditHeadsFile: path.join(heads, headsFileName) };
  await mkdir(heads);
  const run = async (connection: TestDatabase["connection"], work: (running: TestServer) => Promise<void>) => {
    const running = await startTestServer({ connection, settings, operatorKey: server.operatorKey });
    await work(running);
    await running.close();
  };
  const signNow = (running: TestServer) => running.tasks.get("audit-checkpoints")?.runNow();
  await run(database.connection, async (running) => {
    await running.newTenant();
    await signNow(running);
  });
  const older = await copyDatabase(String(new pg.Client(database.connection).database));
  await run(database.connection, async (running) => {
    const late = await running.newTenant();
    await late.client.post("/tenants/groups", { name: "Late" });
    await signNow(running);
  });
  const restored = new Database({ connection: older.connection, poolSize: 2 });
  expect((await reportsOf(restored, {}, heads)).filter(({ problems }) => problems > 0).length).toBeGreaterThan(0);
  await run(older.connection, async (running) => {
    await signNow(running);
    expect(running.runner.audit.guard.contradictions.length).toBeGreaterThan(0);
    const accept = { tenantId: undefined, reason: "Restored a backup" };
    const accepted = await acceptHeadsIn(restored, configOf(heads), { current: testMasterKey }, accept);
    expect(accepted.length).toBeGreaterThan(1);
    await signNow(running);
    expect(running.runner.audit.guard.contradictions).toEqual([]);
    await running.newTenant();
    await signNow(running);
  });
  expect((await reportsOf(restored, { live: true }, heads)).flatMap(({ findings }) => findings)).toEqual([]);
  await restored.close();
  await Promise.all([database.drop(), older.drop()]);
});
