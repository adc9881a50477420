/** Edits the database by hand, as its owner, in many ways. Verification must find and name each edit. */

import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant, testMasterKey } from "../../testing/test-server.ts";
import { entryHash, sealHash } from "./chain.ts";
import { AuditSigner, SignatureCheck } from "./signatures.ts";
import { verifyTenant } from "./verify-database.ts";
import { verifyExport } from "./verify-export.ts";
import type { Report } from "./verify-record.ts";
import { ndjsonExport } from "./write-export.ts";

let own: TestDatabase;
let server: TestServer;
let owner: pg.Client;
let tenant: TestTenant;
let stranger: TestTenant;
/**
 * Positions 1 to 5 are from creating the tenant, 6 to 8 are groups, 9 and 10 two users from one command, and 11 a
 * group.
 */
let events: readonly { readonly position: number; readonly id: string; readonly createdAt: string }[];

const signer = new AuditSigner(testMasterKey);
const signatures = SignatureCheck.of(signer.publicKey);

beforeAll(async () => {
  own = await createDatabase();
  server = await startTestServer({ connection: own.connection });
  owner = new pg.Client(own.connection);
  await owner.connect();
});
beforeEach(async () => {
  tenant = await server.newTenant();
  stranger = await server.newTenant();
  for (const { client } of [tenant, stranger]) {
    for (const name of ["One", "Two", "Three"]) await client.must.post("/tenants/groups", { name });
    await client.must.post(
      "/tenants/users",
      ["ann@example.com", "ben@example.com"].map((email) => ({ email })),
    );
    await client.must.post("/tenants/groups", { name: "Four" });
  }
  events = (await tenant.client.get("/tenants/events?limit=100")).body.data;
});
afterAll(async () => {
  await Promise.all([server.close(), owner.end()]);
  await own.drop();
});

const sign = () => server.tasks.get("audit-checkpoints")?.runNow();

async function verifyLive(tenantId = tenant.id): Promise<Report> {
  const report = await verifyTenant(server.database, { tenantId, signatures });
  if (report === undefined) throw new Error("the tenant is not in the report");
  return report;
}

/** Verifies the chain alone: a removed seal also leaves its effects and facts without one. */
async function verifyChain(tenantId = tenant.id): Promise<Report> {
  const report = await verifyLive(tenantId);
  return { ...report, findings: report.findings.filter(({ problem }) => problem !== "history") };
}

function exported(tenantId = tenant.id): AsyncIterable<string> {
  return ndjsonExport({
    tenantId,
    read: (work) => server.database.snapshot({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query })),
    filters: [],
    signer,
    now: new Date(),
    evaluate: (work) => server.runner.evaluator.decide(tenantId, work),
  });
}

async function* bytes(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield Buffer.from(text);
}

const verifyExported = (tenantId = tenant.id) => verifyExport(bytes(exported(tenantId)));

const sql = (text: string, ...values: unknown[]) => owner.query(text, values);
const edit = (position: number, change: string) =>
  sql(`UPDATE audit_events SET ${change} WHERE tenant_id = $1 AND position = $2`, tenant.id, position);
const at = (position: number) => {
  const { id, createdAt } = events[position - 1] ?? {};
  return { position, id, createdAt };
};

/** Expects the findings both in the live database and in an export of it. */
async function expectFound(...findings: readonly object[]): Promise<void> {
  for (const report of [await verifyChain(), await verifyExported()]) {
    expect(report.findings).toEqual(findings.map((finding) => expect.objectContaining(finding)));
  }
}

test("an unchanged record is valid, live and exported, and is signed through its head when a checkpoint is due", async () => {
  expect(await verifyLive()).toMatchObject({ findings: [], events: 11, signedThrough: 0 });
  await sign();
  expect(await verifyLive()).toMatchObject({ findings: [], signedThrough: 11, head: { position: 11 } });
  expect(await verifyExported()).toMatchObject({ findings: [], events: 11, signedThrough: 11, tenantId: tenant.id });
  const report = await verifyLive(stranger.id);
  expect(report.findings).toEqual([]);
});

test.each([
  ["after", 'after = \'{"name": "Forged"}\''],
  ["before", "before = '{}'"],
  ["actor", "actor_name = 'Somebody else'"],
  ["actor's id", "actor_id = gen_random_uuid()"],
  ["actor's type", "actor_type = 'system'"],
  ["operation", "operation = 'deleteGroup'"],
  ["time", "created_at = created_at + interval '1 millisecond'"],
  ["target", "target_id = gen_random_uuid()"],
  ["target's name", "target_name = NULL"],
  ["request id", "request_id = 'another'"],
  ["source address", "source_address = '192.0.2.1'"],
  ["generation", "generation = generation + 1"],
])("an entry with a changed %s is named", async (_what, change) => {
  await edit(7, change);
  await expectFound({ problem: "changed", position: 7 });
});

test("an entry with a changed id is named", async () => {
  await edit(7, "id = gen_random_uuid()");
  await expectFound({ problem: "changed", position: 7, createdAt: events[6]?.createdAt });
});

test("an entry deleted from the middle is reported as missing at its position", async () => {
  await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 9", tenant.id);
  await expectFound({ problem: "missing", position: 9, createdAt: events[8]?.createdAt });
});

test("a batch deleted with its seal is reported as missing", async () => {
  await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 7", tenant.id);
  await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position = 7", tenant.id);
  await expectFound({ problem: "missing", position: 7 });
});

test("deleting the newest entry with its seal contradicts the tenant's count", async () => {
  await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 11", tenant.id);
  await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position = 11", tenant.id);
  expect((await verifyChain()).findings).toMatchObject([{ problem: "missing", position: 11 }]);
});

test("deleting the newest entry with every trace in other tables contradicts the checkpoint", async () => {
  await sign();
  await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position = 11", tenant.id);
  await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position = 11", tenant.id);
  await sql(
    `UPDATE tenant_generations SET event_count = 10, generation = generation - 1,
       chain_hash = (SELECT hash FROM audit_seals WHERE tenant_id = $1 ORDER BY generation DESC LIMIT 1)
     WHERE tenant_id = $1`,
    tenant.id,
  );
  await expectFound({ problem: "missing", position: 11 });
});

test("a deleted seal is reported as missing, and its entry as unsealed", async () => {
  await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND first_position = 8", tenant.id);
  const live = await verifyChain();
  expect(live.findings).toMatchObject([
    { problem: "missing", position: 8 },
    { problem: "unsealed", ...at(8) },
  ]);
  expect((await verifyExported()).problems).toBeGreaterThan(0);
});

test("two entries swapped within a batch are both named, with their positions", async () => {
  await sql("UPDATE audit_events SET position = -position WHERE tenant_id = $1 AND position IN (9, 10)", tenant.id);
  await sql("UPDATE audit_events SET position = 19 + position WHERE tenant_id = $1 AND position < 0", tenant.id);
  await expectFound(
    { problem: "reordered", position: 9, id: at(10).id },
    { problem: "reordered", position: 10, id: at(9).id },
  );
});

test("two entries swapped across batches are both named", async () => {
  await sql("UPDATE audit_events SET position = -position WHERE tenant_id = $1 AND position IN (6, 8)", tenant.id);
  await sql("UPDATE audit_events SET position = 14 + position WHERE tenant_id = $1 AND position < 0", tenant.id);
  await expectFound(
    { problem: "changed", position: 6, id: at(8).id },
    { problem: "changed", position: 8, id: at(6).id },
  );
});

test("an entry inserted after all others is reported as unsealed", async () => {
  await sql(
    `INSERT INTO audit_events SELECT (jsonb_populate_record(item, jsonb_build_object('id', gen_random_uuid(), 'position', 12))).*
     FROM audit_events AS item WHERE tenant_id = $1 AND position = 11`,
    tenant.id,
  );
  expect((await verifyLive()).findings).toMatchObject([{ problem: "unsealed", position: 12 }]);
});

test("a forged entry with a recomputed seal breaks the chain at its position", async () => {
  await edit(7, 'after = \'{"name": "Forged"}\'');
  await reseal(7, 7);
  await expectFound({ problem: "chain", position: 8 });
});

test("a rewritten tail with recomputed hashes contradicts the checkpoint", async () => {
  await sign();
  await edit(7, 'after = \'{"name": "Forged"}\'');
  await reseal(7, 11);
  const [live, file] = [await verifyLive(), await verifyExported()];
  expect(live.findings).toMatchObject([{ problem: "checkpoint", position: 11 }]);
  expect(file.findings).toMatchObject([{ problem: "checkpoint", position: 11 }]);
});

test("a chain that contradicts its last checkpoint is not signed again", async () => {
  await sign();
  await edit(7, 'after = \'{"name": "Forged"}\'');
  await reseal(7, 11);
  await tenant.client.must.post("/tenants/groups", { name: "Five" });
  await sign();
  expect((await verifyLive()).findings).toMatchObject([{ problem: "checkpoint", position: 11 }]);
  const { rows } = await sql("SELECT position FROM audit_checkpoints WHERE tenant_id = $1", tenant.id);
  expect(rows).toEqual([{ position: "11" }]);
});

test("an entry moved to another tenant is reported for both tenants", async () => {
  await sql(
    "UPDATE audit_events SET tenant_id = $2, position = 12 WHERE tenant_id = $1 AND position = 11",
    stranger.id,
    tenant.id,
  );
  expect((await verifyLive()).findings).toMatchObject([{ problem: "unsealed", position: 12 }]);
  expect((await verifyLive(stranger.id)).findings).toMatchObject([{ problem: "missing", position: 11 }]);
});

test("another tenant's whole record in place of the tenant's own breaks the chain", async () => {
  for (const table of ["audit_events", "audit_seals"]) {
    await sql(`DELETE FROM ${table} WHERE tenant_id = $1`, tenant.id);
    await sql(`UPDATE ${table} SET tenant_id = $2 WHERE tenant_id = $1`, stranger.id, tenant.id);
  }
  const { findings } = await verifyLive();
  expect(findings[0]).toMatchObject({ problem: "chain", position: 1 });
});

test.each([
  ["position", "position = 10"],
  ["hash", "hash = sha256('')"],
  ["time", "created_at = created_at - interval '1 day'"],
  ["signature", "signature = set_byte(signature, 7, (get_byte(signature, 7) + 1) % 256)"],
])("a checkpoint with a changed %s is named", async (_what, change) => {
  await sign();
  await sql(`UPDATE audit_checkpoints SET ${change} WHERE tenant_id = $1`, tenant.id);
  for (const report of [await verifyLive(), await verifyExported()]) {
    expect(report.findings).toMatchObject([{ problem: "checkpoint" }]);
  }
});

test("a checkpoint of another tenant is invalid", async () => {
  await sign();
  await sql("DELETE FROM audit_checkpoints WHERE tenant_id = $1", tenant.id);
  await sql("UPDATE audit_checkpoints SET tenant_id = $2 WHERE tenant_id = $1", stranger.id, tenant.id);
  expect((await verifyLive()).findings).toMatchObject([{ problem: "checkpoint", position: 11 }]);
});

test.each([
  ["hash", "hash = sha256('')", { problem: "chain", position: 7 }],
  ["time", "created_at = created_at + interval '1 day'", { problem: "chain", position: 7 }],
  ["generation", "generation = generation + 100", { problem: "chain" }],
])("a seal with a changed %s is named", async (_what, change, finding) => {
  await sql(`UPDATE audit_seals SET ${change} WHERE tenant_id = $1 AND first_position = 7`, tenant.id);
  expect((await verifyLive()).findings).toContainEqual(expect.objectContaining(finding));
  expect((await verifyExported()).problems).toBeGreaterThan(0);
});

test.each([
  ["count of entries, to more", "event_count = event_count + 1", { problem: "missing", position: 12 }],
  ["count of entries, to fewer", "event_count = event_count - 1", { problem: "head", position: 11 }],
  ["last hash", "chain_hash = sha256('')", { problem: "head", position: 11 }],
  ["generation, to a later one", "generation = generation + 5", { problem: "head", position: 11 }],
  ["count of pruned entries", "pruned_count = 3", { problem: "stub", position: 1 }],
])("a changed %s of a tenant is reported", async (_what, change, finding) => {
  await sql(`UPDATE tenant_generations SET ${change} WHERE tenant_id = $1`, tenant.id);
  expect((await verifyLive()).findings).toMatchObject([finding]);
});

test("a stub forged to hide the oldest entries is invalid", async () => {
  await sql(
    `INSERT INTO audit_stubs SELECT tenant_id, 5, generation, hash, created_at, sha256('') || sha256('')
     FROM audit_seals WHERE tenant_id = $1 AND generation = 1`,
    tenant.id,
  );
  await sql("DELETE FROM audit_events WHERE tenant_id = $1 AND position <= 5", tenant.id);
  await sql("DELETE FROM audit_seals WHERE tenant_id = $1 AND generation = 1", tenant.id);
  await sql("UPDATE tenant_generations SET pruned_count = 5 WHERE tenant_id = $1", tenant.id);
  await expectFound({ problem: "stub", position: 5 });
});

test("a checkpoint cannot replace a stub", async () => {
  await sign();
  await sql(
    `INSERT INTO audit_stubs SELECT tenant_id, position, generation, hash, created_at, signature
     FROM audit_checkpoints WHERE tenant_id = $1`,
    tenant.id,
  );
  for (const table of ["audit_events", "audit_seals", "audit_checkpoints"]) {
    await sql(`DELETE FROM ${table} WHERE tenant_id = $1`, tenant.id);
  }
  await sql("UPDATE tenant_generations SET pruned_count = 11 WHERE tenant_id = $1", tenant.id);
  await expectFound({ problem: "stub", position: 11 });
});

test("a head retained from an earlier verification must still be in the chain", async () => {
  const { head } = await verifyLive();
  await tenant.client.must.post("/tenants/groups", { name: "Five" });
  const expectHead = head.hash;
  expect(await verifyTenant(server.database, { tenantId: tenant.id, signatures, expectHead })).toMatchObject({
    findings: [],
  });
  await edit(11, 'after = \'{"name": "Forged"}\'');
  await reseal(11, 12);
  await sql("DELETE FROM audit_checkpoints WHERE tenant_id = $1", tenant.id);
  expect((await verifyLive()).findings).toEqual([]);
  expect(await verifyTenant(server.database, { tenantId: tenant.id, signatures, expectHead })).toMatchObject({
    findings: [{ problem: "head" }],
  });
});

test("all problems are counted, and the first hundred are listed", async () => {
  await sql(
    `INSERT INTO audit_events SELECT (jsonb_populate_record(item, jsonb_build_object('id', gen_random_uuid(), 'position', 11 + n))).*
     FROM audit_events AS item, generate_series(1, 250) AS n WHERE tenant_id = $1 AND position = 11`,
    tenant.id,
  );
  const report = await verifyLive();
  expect(report.problems).toBe(250);
  expect(report.findings).toHaveLength(100);
});

/** Recomputes every hash of these entries' seals, like an attacker who knows the scheme. */
async function reseal(from: number, through: number): Promise<void> {
  const { body } = await tenant.client.get("/tenants/events?limit=100");
  const hashes = new Map<number, string>(
    body.data.map((event: { position: number }) => [
      event.position,
      entryHash(event as Parameters<typeof entryHash>[0]).toString("hex"), // as the API shows it
    ]),
  );
  const { rows } = await sql(
    `SELECT generation::int, created_at, first_position::int AS first, octet_length(entry_hashes) / 32 AS count,
            encode(details, 'hex') AS details, encode(hash, 'hex') AS hash FROM audit_seals WHERE tenant_id = $1 ORDER BY generation`,
    tenant.id,
  );
  let previous = "0".repeat(64);
  for (const { generation, created_at, first, count, details, hash } of rows) {
    if (first < from || first > through) {
      previous = hash;
      continue;
    }
    const entryHashes = Array.from({ length: count }, (_none, index) => hashes.get(first + index) ?? "");
    const seal = {
      generation,
      createdAt: created_at.toISOString(),
      firstPosition: first,
      entryHashes,
      ...(details === null ? {} : { details }),
    };
    previous = sealHash(previous, tenant.id, seal);
    await sql(
      "UPDATE audit_seals SET entry_hashes = decode($3, 'hex'), hash = decode($4, 'hex') WHERE tenant_id = $1 AND generation = $2",
      tenant.id,
      generation,
      entryHashes.join(""),
      previous,
    );
  }
  if (through >= body.data.length) {
    await sql("UPDATE tenant_generations SET chain_hash = decode($2, 'hex') WHERE tenant_id = $1", tenant.id, previous);
  }
}

test.each([
  ["a generation that no 64 bits hold", { generation: 1e19 }],
  ["a first position that is not exact", { firstPosition: 1e300 }],
  ["a leap second", { createdAt: "2016-12-31T23:59:60Z" }],
])("a line with %s is reported and does not stop the verification", async (_what, change) => {
  async function* changed(): AsyncGenerator<Uint8Array> {
    for await (const text of exported()) {
      const lines = text.split("\n");
      const at = lines.findIndex((line) => line.includes('"type":"seal"'));
      if (at >= 0) lines[at] = JSON.stringify({ ...JSON.parse(lines[at] ?? ""), ...change });
      yield Buffer.from(lines.join("\n"));
    }
  }
  const { findings } = await verifyExport(changed());
  expect(findings[0]).toMatchObject({ problem: "form", message: expect.stringContaining("is not a valid seal line") });
});
