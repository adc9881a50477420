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
import { entryHash, sealHash } from "./platform/audit/chain.ts";
import { headsFileName } from "./platform/audit/signed-heads.ts";
import { Database } from "./platform/db/database.ts";
import { createLog } from "./platform/log.ts";
import { HeldTransaction } from "./testing/held-transaction.ts";
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

const event = (position: number, change: string) =>
  sql(`UPDATE audit_events SET ${change} WHERE tenant_id = $1 AND position = $2`, tenant.id, position);
async function deleteFrom(position: number): Promise<void> {
  await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position >= $2", tenant.id, position);
  await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position >= $2", tenant.id, position);
}
/** Sets the counters to the end of what is left, and removes the effects and facts of what is gone. */
async function setCountersBack(): Promise<void> {
  await sql(
    `UPDATE tenant_generations AS counters SET event_count = last.first_position, generation = last.generation, chain_hash = last.hash
     FROM (SELECT * FROM audit_seals WHERE tenant_id = $1 ORDER BY generation DESC LIMIT 1) AS last WHERE counters.tenant_id = $1`,
    tenant.id,
  );
  for (const table of ["access_effects", "access_history"]) {
    await sql(
      `DELETE FROM ${table} WHERE tenant_id = $1 AND generation > (SELECT generation FROM tenant_generations WHERE tenant_id = $1)`,
      tenant.id,
    );
  }
}
const deleteCheckpoints = () => sql("DELETE FROM audit_checkpoints WHERE tenant_id = $1", tenant.id);

/** Recomputes every hash of the record, like an attacker who knows the scheme. */
async function reseal(): Promise<void> {
  const { body } = await tenant.client.get("/tenants/events?limit=100");
  const hashes = body.data.map((each: Parameters<typeof entryHash>[0]) => entryHash(each).toString("hex"));
  const seals = await sql(
    `SELECT generation::int, created_at, first_position::int AS first, octet_length(entry_hashes) / 32 AS count,
            encode(details, 'hex') AS details FROM audit_seals WHERE tenant_id = $1 ORDER BY generation`,
    tenant.id,
  );
  let hash = "0".repeat(64);
  for (const { generation, created_at, first, count, details } of seals) {
    const entryHashes = hashes.slice(first - 1, first - 1 + count);
    const seal = { generation, createdAt: created_at.toISOString(), firstPosition: first, entryHashes };
    hash = sealHash(hash, tenant.id, { ...seal, ...(details === null ? {} : { details }) });
    await sql(
      "UPDATE audit_seals SET entry_hashes = decode($3, 'hex'), hash = decode($4, 'hex') WHERE tenant_id = $1 AND generation = $2",
      tenant.id,
      generation,
      entryHashes.join(""),
      hash,
    );
  }
  await sql("UPDATE tenant_generations SET chain_hash = decode($2, 'hex') WHERE tenant_id = $1", tenant.id, hash);
}

interface Edit {
  /** The number in the review, and the edit. */
  readonly name: string;
  readonly edit: () => Promise<unknown>;
  /** Whether the edit can be found without a head from outside the database, with --live. */
  readonly alone: boolean;
  /** A finding that there must be. */
  readonly message?: RegExp;
}

const privateOrder = /^The order of the PRIVATE policies is not as their entries left it/;
/** Sets the positions of the PRIVATE policies, without the check of unique positions. */
const place = (order: string) =>
  owner.query(
    `SET session_replication_role = replica;
     UPDATE policies SET "order" = ${order} WHERE tenant_id = '${tenant.id}' AND type = 'PRIVATE';
     SET session_replication_role = DEFAULT`,
  );

const edits: readonly Edit[] = [
  { name: "1: the JSON of an entry", alone: true, edit: () => event(7, 'after = \'{"name": "Forged"}\'') },
  { name: "2: the actor of an entry", alone: true, edit: () => event(7, "actor_name = 'Somebody else'") },
  {
    name: "3: an entry in the middle deleted",
    alone: true,
    edit: () => sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 7", tenant.id),
  },
  {
    name: "4: an entry in the middle deleted with its seal",
    alone: true,
    edit: async () => {
      await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 7", tenant.id);
      await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position = 7", tenant.id);
    },
  },
  { name: "5: the tail deleted with its seals", alone: true, edit: () => deleteFrom(9) },
  {
    name: "6: the tail deleted, and the counters set back",
    alone: true,
    edit: () => deleteFrom(9).then(setCountersBack),
  },
  { name: "7: all checkpoints deleted", alone: false, edit: deleteCheckpoints },
  {
    name: "8: checkpoints and tail deleted, and the counters set back",
    alone: true,
    edit: () => deleteFrom(8).then(setCountersBack).then(deleteCheckpoints),
  },
  {
    name: "9: two entries swapped",
    alone: true,
    edit: async () => {
      await sql("UPDATE audit_events SET position = -position WHERE tenant_id = $1 AND position IN (6, 8)", tenant.id);
      await sql("UPDATE audit_events SET position = 14 + position WHERE tenant_id = $1 AND position < 0", tenant.id);
    },
  },
  {
    name: "10: an entry inserted at the end",
    alone: true,
    edit: () =>
      sql(
        `INSERT INTO audit_events SELECT (jsonb_populate_record(item, jsonb_build_object('id', gen_random_uuid(), 'position', 11))).*
         FROM audit_events AS item WHERE tenant_id = $1 AND position = 10`,
        tenant.id,
      ),
  },
  {
    name: "11: the record truncated with its checkpoints, and the counters at 0",
    alone: true,
    edit: async () => {
      await deleteFrom(1);
      await deleteCheckpoints();
      for (const table of ["access_effects", "access_history"]) {
        await sql(`DELETE FROM ${table} WHERE tenant_id = $1`, tenant.id);
      }
      await sql(
        `UPDATE tenant_generations SET event_count = 0, generation = 0, chain_hash = decode(repeat('00', 32), 'hex')
         WHERE tenant_id = $1`,
        tenant.id,
      );
    },
  },
  {
    name: "12: the record truncated, and the counters as they were",
    alone: true,
    edit: () => deleteFrom(1).then(deleteCheckpoints),
  },
  { name: "13: a tenant deleted whole", alone: true, edit: () => sql("DELETE FROM tenants WHERE id = $1", tenant.id) },
  {
    name: "14: the record rewritten with all hashes",
    alone: true,
    edit: () => event(7, 'after = \'{"name": "Forged"}\'').then(reseal),
  },
  {
    name: "15: a forged signature",
    alone: true,
    edit: () =>
      sql("UPDATE audit_checkpoints SET signature = sha256('') || sha256('') WHERE tenant_id = $1", tenant.id),
  },
  {
    name: "16: a stored effect",
    alone: true,
    edit: () =>
      sql(
        "UPDATE access_effects SET summary = '{}' WHERE tenant_id = $1 AND generation = (SELECT max(generation) FROM access_effects WHERE tenant_id = $1)",
        tenant.id,
      ),
  },
  {
    name: "17: the access history",
    alone: true,
    edit: () => sql("UPDATE access_history SET facts = NULL WHERE tenant_id = $1 AND kind = 'group'", tenant.id),
  },
  {
    name: "18: the operator's events",
    alone: true,
    edit: () => sql("UPDATE operator_events SET actor_name = 'Somebody else' WHERE tenant_id = $1", tenant.id),
  },
  { name: "19: the time of an entry", alone: true, edit: () => event(7, "created_at = created_at - interval '1 day'") },
  {
    name: "20: a live policy, without an entry",
    alone: true,
    edit: () => sql("UPDATE policies SET action = NOT action WHERE tenant_id = $1", tenant.id),
  },
  {
    name: "23: the oldest entries behind a forged stub",
    alone: true,
    edit: async () => {
      await sql(
        `INSERT INTO audit_stubs SELECT tenant_id, 5, generation, hash, created_at, sha256('') || sha256('')
         FROM audit_seals WHERE tenant_id = $1 AND generation = 1`,
        tenant.id,
      );
      await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position <= 5", tenant.id);
      await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND generation = 1", tenant.id);
      await sql("UPDATE tenant_generations SET pruned_count = 5 WHERE tenant_id = $1", tenant.id);
    },
  },
  {
    name: "24: laundered: rewritten with all hashes, and without the checkpoint",
    alone: false,
    edit: async () => {
      await event(9, 'after = \'{"name": "Harmless"}\'');
      await reseal();
      await deleteCheckpoints();
    },
  },
  { name: "25: two policies swapped", alone: true, edit: () => place('3 - "order"'), message: privateOrder },
  { name: "26: all positions negated", alone: true, edit: () => place('-"order"'), message: privateOrder },
  { name: "27: two policies with one position", alone: true, edit: () => place("1"), message: privateOrder },
  {
    name: "28: one policy moved behind another one",
    alone: true,
    edit: () => place(`"order" + CASE name WHEN 'Three' THEN 5 ELSE 0 END`),
    message: privateOrder,
  },
  {
    name: "29: the default policy moved",
    alone: true,
    edit: () => sql(`UPDATE policies SET "order" = 0 WHERE tenant_id = $1 AND is_default`, tenant.id),
    message: /^The order of the INTERNET policies is not as their entries left it/,
  },
];

/** Edits after which the running server must not sign the record: they contradict the head that it signed. */
const contradicting = new Set([5, 6, 7, 8, 11, 12, 13, 14, 24]);

test("an unchanged database has no problem", async () => {
  tenant = await signedTenant();
  expect(await problemsOf({ live: true })).toEqual([]);
});

test.each(edits)("edit $name is found, and the running server does not sign it", async (each) => {
  const { name, edit, alone, message = /./ } = each;
  tenant = await signedTenant();
  const restore = await copyTenant(owner, tenant.id);
  try {
    await edit();
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
  await reseal();
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
