/** A database that answers but cannot write: its disk is full, or it is read-only. No answer is a 500. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { waitLimitMs } from "../../../../../test/wait-limit.ts";
import type { Connection } from "../../platform/db/database.ts";
import { createDatabase } from "../test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../test-server.ts";

let drop: () => Promise<void>;
let connection: Connection;
let owner: pg.Client;
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  const database = await createDatabase();
  drop = database.drop;
  connection = database.connection;
  owner = new pg.Client(database.connection);
  await owner.connect();
  await owner.query(`CREATE FUNCTION run_out_of_space() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
  server = await startTestServer({ connection: database.connection, mayFail: true });
  tenant = await server.newTenant();
});
afterEach(async () => {
  for (const table of fullTables) await owner.query(`DROP TRIGGER IF EXISTS out_of_space ON ${table}`);
});
afterAll(async () => {
  await server.close();
  await owner.end();
  await drop();
});

const fullTables = ["protocols", "idempotent_replies", "audit_events", "outbox", "write_probes"];
const fill = (table: string) =>
  owner.query(
    `CREATE TRIGGER out_of_space BEFORE INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION run_out_of_space()`,
  );
const ready = async () => (await server.client(undefined).get("/readyz")).status;

function write(key?: string) {
  const body = { networkProtocols: [{ protocol: "TCP", port: String(1024 + Math.floor(Math.random() * 60_000)) }] };
  return tenant.client.post("/tenants/protocols", body, key === undefined ? {} : { "idempotency-key": key });
}

describe("a full disk", () => {
  test.each(fullTables.filter((table) => table !== "write_probes"))(
    "that is noticed while writing %s gets 503, however the statements were sent",
    async (table) => {
      await fill(table);
      const replies = await Promise.all(Array.from({ length: 12 }, (_, index) => write(`${table} ${index}`)));
      for (const reply of replies) {
        expect(reply, reply.text).toMatchObject({ status: 503, body: { code: "database_unavailable" } });
        expect(reply.body.detail).toBe("The database has no disk space left. Nothing was changed.");
        expect(reply.headers["retry-after"]).toBeDefined();
      }
      await owner.query(`DROP TRIGGER out_of_space ON ${table}`);
      expect((await write()).status).toBe(201);
    },
  );

  test("makes /readyz answer 503 until the database can write again", async () => {
    expect(await ready()).toBe(200);
    for (const table of fullTables) await fill(table);
    expect((await write()).status).toBe(503);
    expect([await ready(), await ready()]).toEqual([503, 503]);
    expect((await tenant.client.get("/tenants/protocols")).status).toBe(200);
    for (const table of fullTables) await owner.query(`DROP TRIGGER out_of_space ON ${table}`);
    expect(await ready()).toBe(200);
    expect((await owner.query("SELECT count(*)::int AS left FROM write_probes")).rows).toEqual([{ left: 0 }]);
  });
});

describe("a read-only database", () => {
  test("gets 503 for writes and for /readyz, and still answers reads", async () => {
    const name = (await owner.query("SELECT current_database() AS name")).rows[0].name;
    const other = await startTestServer({ connection, mayFail: true });
    const { client } = await other.newTenant();
    await owner.query(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
    try {
      // New connections have the setting; those of the pool keep theirs.
      await owner.query(endConnections);
      const statusOfWrite = async () => (await client.post("/tenants/protocols", protocolBody)).status;
      const statusOfReady = async () => (await other.client(undefined).get("/readyz")).status;
      await expect.poll(statusOfReady).toBe(503);
      for (let attempt = 0; attempt < 10; attempt += 1) {
        expect(await statusOfWrite()).toBe(503);
        expect((await client.get("/tenants/users")).status).not.toBe(500);
      }
      await expect.poll(async () => (await client.get("/tenants/users")).status).toBe(200);
    } finally {
      await owner.query(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
      await owner.query(endConnections);
    }
    await expect.poll(async () => (await other.client(undefined).get("/readyz")).status).toBe(200);
    await other.close();
  });
});

/** Returns once the connections have ended: a busy server takes its time. */
const endConnections = `SELECT pg_terminate_backend(pid, ${waitLimitMs}) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;
const protocolBody = { networkProtocols: [{ protocol: "UDP", port: "9999" }] };

test("NUL characters get 400, also where no schema rejects them", async () => {
  const device = { devices: [{ publicKey: "\u0000" }] };
  const policy = { name: "a", action: true, mode: "LOCAL", ...device };
  for (const path of ["/tenants/configuration/plan", "/tenants/configuration/apply"]) {
    const reply = await tenant.client.post(path, { version: 1, policies: { INTERNET: [policy] } });
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body" } });
    expect(reply.body.errors[0].pointer).toBe("/policies/INTERNET/0/devices/0/publicKey");
  }
  // A backslash before the letters is not an escape.
  const literal = await tenant.client.post("/tenants/groups", { name: "\\u0000", roles: [] });
  expect(literal.status).toBe(201);
  expect(literal.body.name).toBe("\\u0000");
});

describe.each([
  ["names with characters that change the direction of text", "Admins\u202etxt"],
  ["names without a visible character", "\u200b\u2060"],
  ["names with a line separator", "Admins\u2028txt"],
  ["names with a paragraph separator", "Admins\u2029txt"],
  ["names with a zero-width space", "Ad\u200bmins"],
  ["names with a word joiner", "Ad\u2060mins"],
  ["names with a soft hyphen", "Ad\u00admins"],
  ["names with a byte order mark", "Ad\ufeffmins"],
  ["names with an annotation control", "Ad\ufffbmins"],
  ["names with a deprecated control", "Ad\u206fmins"],
  ["names with a noncharacter", "Ad\uffffmins"],
  ["names with a filler", "Admins\u3164"],
  ["names with a joiner between Latin letters", "Ad\u200dmins"],
  ["names with tags", "Admins\u{e0041}"],
])("%s", (_what, hidden) => {
  test("are refused when a record is created or renamed, also by a configuration", async () => {
    const created = await tenant.client.post("/tenants/groups", { name: hidden, roles: [] });
    expect(created).toMatchObject({ status: 422, body: { code: "invalid_name", errors: [{ pointer: "/name" }] } });
    const { body } = await tenant.client.post("/tenants/groups", { name: `Plain ${_what}`, roles: [] });
    expect((await tenant.client.put(`/tenants/groups/${body.id}`, { name: hidden })).status).toBe(422);
    const document = { version: 1, protocols: [{ name: hidden, networkProtocols: [{ protocol: "TCP" }] }] };
    for (const path of ["plan", "apply"]) {
      const reply = await tenant.client.post(`/tenants/configuration/${path}`, document);
      expect(reply).toMatchObject({ status: 422, body: { code: "invalid_configuration" } });
      expect(reply.body.errors[0].pointer).toBe("/protocols/0/name");
    }
  });

  test("that exist stay valid, and their export can be applied", async () => {
    const { body } = await tenant.client.post("/tenants/groups", { name: `Older ${_what}`, roles: [] });
    await owner.query("UPDATE groups SET name = $1 WHERE id = $2", [hidden, body.id]);
    const renamed = await tenant.client.put(`/tenants/groups/${body.id}`, { name: hidden, description: "Changed" });
    expect(renamed.status, renamed.text).toBe(200);
    const { body: document } = await tenant.client.get("/tenants/configuration");
    expect(JSON.stringify(document)).toContain(hidden);
    expect(await tenant.client.post("/tenants/configuration/apply", document)).toMatchObject({ status: 200 });
  });
});

test.each([
  "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
  "Team \ud83d\udc69\u200d\ud83d\udcbb",
  "\ud83c\udff4\udb40\udc67\udb40\udc62\udb40\udc65\udb40\udc6e\udb40\udc67\udb40\udc7f",
])("a name whose script or picture needs joiners is accepted: %s", async (name) => {
  expect(await tenant.client.post("/tenants/groups", { name, roles: [] })).toMatchObject({
    status: 201,
    body: { name },
  });
});
