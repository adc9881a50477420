import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { startTestServer, type TestServer, testMasterKey } from "../../testing/test-server.ts";
import { applicationRole } from "../db/database.ts";
import { AuditSigner, SignatureCheck } from "./signatures.ts";
import { verifyTenant } from "./verify-database.ts";

let server: TestServer;
let owner: pg.Client;

const signatures = SignatureCheck.of(new AuditSigner(testMasterKey).publicKey);

beforeAll(async () => {
  server = await startTestServer();
  owner = new pg.Client(inject("database"));
  await owner.connect();
});
afterAll(async () => {
  await Promise.all([server.close(), owner.end()]);
});

test("many concurrent commands produce a chain without gaps whose hashes match the stored entries", async () => {
  const tenant = await server.newTenant();
  // Two replicas, and values of every JSON type.
  const other = await startTestServer({ operatorKey: server.operatorKey });
  const clients = [tenant.client, other.client(tenant.key)];
  const replies = await Promise.all(
    Array.from({ length: 24 }, async (_none, index) => {
      const client = clients[index % 2] ?? tenant.client;
      const made = await client.post("/tenants/users", { email: `person-${index}@example.com` });
      const attributes = {
        "n\u00e4me \ud83d\ude00": '\u2028\u20ac\\"\u0007',
        big: 1e21,
        small: -1.5e-9,
        zero: -0,
        yes: true,
        __proto: "x",
      };
      return client.patch(`/tenants/users/${made.body.id}`, { attributes });
    }),
  );
  await other.close();
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  const report = await verifyTenant(server.database, { tenantId: tenant.id, signatures });
  expect(report).toMatchObject({ findings: [], events: 5 + 2 * 24 });
});

test("positions are the order of the list, newest first on request", async () => {
  const { client } = await server.newTenant();
  for (const name of ["One", "Two"]) await client.must.post("/tenants/groups", { name });
  const positions = async (query: string) =>
    (await client.get(`/tenants/events?${query}`)).body.data.map((event: { position: number }) => event.position);
  expect(await positions("limit=50")).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(await positions("limit=50&sort=-position")).toEqual([7, 6, 5, 4, 3, 2, 1]);
  expect(await positions("sort=-createdAt&limit=2")).toEqual([7, 6]);
});

test("deleting a tenant deletes its record", async () => {
  const tenant = await server.newTenant();
  await server.tasks.get("audit-checkpoints")?.runNow();
  await server.operator.must.delete(`/operator/tenants/${tenant.id}`);
  for (const table of ["audit_events", "audit_seals", "audit_checkpoints", "audit_stubs"]) {
    expect((await owner.query(`SELECT FROM ${table} WHERE tenant_id = $1`, [tenant.id])).rowCount, table).toBe(0);
  }
});

test("two replicas that sign concurrently store one checkpoint", async () => {
  const tenant = await server.newTenant();
  const other = await startTestServer({ operatorKey: server.operatorKey });
  await Promise.all([server, other].map(({ tasks }) => tasks.get("audit-checkpoints")?.runNow()));
  await other.close();
  const { rows } = await owner.query("SELECT position::int FROM audit_checkpoints WHERE tenant_id = $1", [tenant.id]);
  expect(rows).toEqual([{ position: 5 }]);
});

test("the role that serves requests can neither change nor delete entries, nor prune without the operator's scope", async () => {
  const tenant = await server.newTenant();
  const application = new pg.Client(inject("database"));
  await application.connect();
  try {
    await application.query(`SET ROLE ${applicationRole}`);
    for (const statement of [
      "UPDATE audit_events SET actor_name = 'x'",
      "DELETE FROM audit_events",
      "UPDATE audit_seals SET hash = hash",
      "DELETE FROM audit_seals",
      "UPDATE audit_checkpoints SET hash = hash",
      "DELETE FROM audit_checkpoints",
      "DELETE FROM audit_stubs",
      "SELECT delete_pruned_events()",
    ]) {
      await application.query(`BEGIN; SET LOCAL app.tenant_id = '${tenant.id}'`);
      await expect(application.query(statement), statement).rejects.toMatchObject({ code: "42501" });
      await application.query("ROLLBACK");
    }
    // Without a stub, pruning could not delete anything.
    await application.query(`BEGIN; SET LOCAL app.tenant_id = '${tenant.id}'; SET LOCAL app.operator = 'on'`);
    expect((await application.query("SELECT delete_pruned_events() AS deleted")).rows).toEqual([{ deleted: "0" }]);
    await application.query("ROLLBACK");
  } finally {
    await application.end();
  }
});

test("a command with more entries than one statement writes has one seal over all of them, in order", async () => {
  const tenant = await server.newTenant();
  const { body: document } = await tenant.client.get("/tenants/configuration");
  const groups = Array.from({ length: 1_300 }, (_, index) => ({
    name: `Group ${index}`,
    description: "x".repeat(300),
  }));
  const applied = await tenant.client.post("/tenants/configuration/apply", {
    ...document,
    groups: [...document.groups, ...groups],
  });
  expect(applied.status, applied.text).toBe(200);
  const report = await verifyTenant(server.database, { tenantId: tenant.id, signatures });
  expect(report).toMatchObject({ findings: [], events: 5 + 1_300 });
  const { rows } = await owner.query(
    `SELECT count(DISTINCT generation)::integer AS seals, max(position)::integer AS last,
            (SELECT cardinality(array_agg(DISTINCT record)) FROM access_history
             WHERE tenant_id = $1 AND kind = 'group' AND generation = 2) AS versions
     FROM audit_events WHERE tenant_id = $1 AND generation = 2`,
    [tenant.id],
  );
  expect(rows).toEqual([{ seals: 1, last: 1_305, versions: 1_300 }]);
});
