import { createHash } from "node:crypto";
import { permissions, rolePermissions } from "@gatehouse/contract/permissions";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const secondMs = 1000;
const dayMs = 86_400 * secondMs;
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await startTestServer({ clock, settings: { trustedProxies: ["127.0.0.1"] } });
  tenant = await server.newTenant();
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => server.close());

function createKey(body: object): Promise<TestReply> {
  return tenant.client.post("/tenants/api-keys", { name: "Terraform", permissions: ["protocols:read"], ...body });
}

/** The status of a request with a key. */
async function statusWith(key: string, headers: Record<string, string> = {}): Promise<number> {
  return (await server.client(key).get("/tenants/protocols", headers)).status;
}

/** Waits for a change, which travels through the outbox even to the replica that made it. */
const untilRefused = (key: string) => until("the key is refused", async () => (await statusWith(key)) === 401);

describe("creating a key", () => {
  test("answers 201 with the secret, which no later answer shows", async () => {
    const made = await createKey({ name: "CI", sourceIps: ["127.0.0.1", " 127.0.0.1/32"] });
    expect(made).toMatchObject({ status: 201, headers: { location: `/tenants/api-keys/${made.body.id}` } });
    expect(made.body.key).toMatch(/^gatehouse_key_[0-9A-Za-z]{49}$/);
    expect(made.body.key.startsWith(made.body.prefix.replace("…", ""))).toBe(true);
    expect(made.body.sourceIps).toEqual(["127.0.0.1"]);
    const { key, ...shown } = made.body;
    expect((await tenant.client.get(`/tenants/api-keys/${made.body.id}`)).body).toEqual(shown);
    const list = await tenant.client.get("/tenants/api-keys");
    expect(list.body).toContainEqual(shown);
    expect(list.text).not.toContain(key);
  });

  test.each([
    ["neither permissions nor role", { permissions: undefined }, "/permissions"],
    ["both permissions and role", { role: "AUDITOR" }, "/permissions"],
    ["a role that grants nothing", { permissions: undefined, role: "DEFAULT" }, "/role"],
    ["an expiry that has passed", { expiresAt: "2020-01-01T00:00:00.000Z" }, "/expiresAt"],
    ["a source that is not an address", { sourceIps: ["192.0.2.1", "example.com"] }, "/sourceIps/1", "invalid_address"],
  ])("answers 422 to %s", async (_what, body, pointer, code = "invalid_combination") => {
    const reply = await createKey(body);
    expect(reply).toMatchObject({ status: 422, body: { code } });
    expect(reply.body.errors).toContainEqual(expect.objectContaining({ pointer }));
  });

  test.each([
    "2030-02-30T00:00:00Z",
    "2030-06-30T23:59:60Z",
    "9999-12-31T23:59:59-10:00",
    "0000-01-01T00:00:00Z",
    "2030-01-01",
  ])("answers 400 to the expiry %s", async (expiresAt) => {
    expect(await createKey({ expiresAt })).toMatchObject({ status: 400, body: { code: "invalid_body" } });
  });

  test("is repeated to the same request, even if the key has expired meanwhile", async () => {
    const headers = { "idempotency-key": "short-lived" };
    const expiresAt = new Date(clock.now().getTime() + secondMs).toISOString();
    const body = { name: "Short-lived", permissions: ["protocols:read"], expiresAt };
    const made = await tenant.client.post("/tenants/api-keys", body, headers);
    clock.advance(secondMs);
    const again = await tenant.client.post("/tenants/api-keys", body, headers);
    expect(again).toMatchObject({ status: 201, body: made.body, headers: { "idempotent-replayed": "true" } });
    expect(await createKey(body)).toMatchObject({ status: 422 });
  });

  test("by role gives the role's permissions", async () => {
    const made = await createKey({ permissions: undefined, role: "SUPPORT" });
    expect(made.body.permissions).toEqual(permissions.filter((name) => rolePermissions.SUPPORT.includes(name)));
  });
});

describe("rotation", () => {
  test("lets the old key work until its grace is over, and not after", async () => {
    const old = await createKey({ sourceIps: ["127.0.0.0/8"] });
    const rotated = await tenant.client.post(`/tenants/api-keys/${old.body.id}/rotate`, { graceSeconds: 60 });
    expect(rotated.status).toBe(200);
    const { name, permissions: granted, sourceIps } = old.body;
    expect(rotated.body).toMatchObject({ name, permissions: granted, sourceIps });
    const read = await tenant.client.get(`/tenants/api-keys/${old.body.id}`);
    const graceEnds = new Date(clock.now().getTime() + 60 * secondMs).toISOString();
    expect(read.body).toMatchObject({ replacedBy: rotated.body.id, expiresAt: graceEnds });

    clock.advance(60 * secondMs - 1);
    expect(await statusWith(old.body.key)).toBe(200);
    expect(await statusWith(rotated.body.key)).toBe(200);
    clock.advance(1);
    expect(await statusWith(old.body.key)).toBe(401);
    expect(await statusWith(rotated.body.key)).toBe(200);
  });

  test("without grace ends the old key, even if it is cached", async () => {
    const old = await createKey({});
    expect(await statusWith(old.body.key)).toBe(200);
    const rotated = await tenant.client.post(`/tenants/api-keys/${old.body.id}/rotate`, { graceSeconds: 0 });
    await untilRefused(old.body.key);
    expect(await statusWith(rotated.body.key)).toBe(200);
  });

  test.each([
    ["does not say", {}],
    ["has no body", undefined],
  ])("gives a day if the request %s", async (_what, body) => {
    const old = await createKey({});
    expect((await tenant.client.post(`/tenants/api-keys/${old.body.id}/rotate`, body)).status).toBe(200);
    const read = await tenant.client.get(`/tenants/api-keys/${old.body.id}`);
    expect(read.body.expiresAt).toBe(new Date(clock.now().getTime() + dayMs).toISOString());
  });

  test("never extends the validity period of a key", async () => {
    const expiresAt = new Date(clock.now().getTime() + 10 * secondMs).toISOString();
    const old = await createKey({ expiresAt });
    const rotated = await tenant.client.post(`/tenants/api-keys/${old.body.id}/rotate`, { graceSeconds: 3600 });
    expect(rotated.body.expiresAt).toBe(expiresAt);
    expect((await tenant.client.get(`/tenants/api-keys/${old.body.id}`)).body.expiresAt).toBe(expiresAt);
  });

  test("of an expired key answers 409, because its replacement would expire at once", async () => {
    const old = await createKey({ expiresAt: new Date(clock.now().getTime() + secondMs).toISOString() });
    clock.advance(secondMs);
    const late = await tenant.client.post(`/tenants/api-keys/${old.body.id}/rotate`, {});
    expect(late).toMatchObject({ status: 409, body: { code: "api_key_expired" } });
  });

  test("of a key that was rotated already answers 409", async () => {
    const old = await createKey({});
    await tenant.client.must.post(`/tenants/api-keys/${old.body.id}/rotate`, {});
    const again = await tenant.client.post(`/tenants/api-keys/${old.body.id}/rotate`, {});
    expect(again).toMatchObject({ status: 409, body: { code: "api_key_replaced" } });
  });

  test("by two callers at once makes one new key", async () => {
    const old = await createKey({});
    const path = `/tenants/api-keys/${old.body.id}/rotate`;
    const replies = await Promise.all([tenant.client.post(path, {}), tenant.client.post(path, {})]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});

test("a key works until the moment it expires, and not after", async () => {
  const expiresAt = new Date(clock.now().getTime() + 5 * secondMs).toISOString();
  const { body } = await createKey({ expiresAt });
  clock.advance(5 * secondMs - 1);
  expect(await statusWith(body.key)).toBe(200);
  clock.advance(1);
  expect(await statusWith(body.key)).toBe(401);
});

describe("source addresses", () => {
  test.each([
    ["192.0.2.0/24", "192.0.2.77", 200],
    ["192.0.2.0/24", "192.0.3.1", 403],
    ["192.0.2.9", "192.0.2.9", 200],
    ["192.0.2.9", "192.0.2.10", 403],
    ["192.0.2.9", "::ffff:192.0.2.9", 200],
    ["192.0.2.9", "2001:db8::1", 403],
    ["2001:db8:1::/48", "2001:db8:1:2::3", 200],
    ["2001:db8:1::/48", "2001:db8:2::3", 403],
    ["2001:db8::5", "2001:DB8:0:0::5", 200],
    ["0.0.0.0/0", "2001:db8::5", 403],
    ["192.0.2.9", "no-address", 403],
  ])("a key for %s, used from %s through the trusted proxy, gets %i", async (source, from, status) => {
    const { body } = await createKey({ sourceIps: [source] });
    const reply = await server.client(body.key).get("/tenants/protocols", { "x-forwarded-for": from });
    expect(reply.status).toBe(status);
    if (status === 403) expect(reply.body.code).toBe("source_address_not_allowed");
  });

  test("trusts only the address that the trusted proxy appended", async () => {
    const { body } = await createKey({ sourceIps: ["192.0.2.9"] });
    expect(await statusWith(body.key, { "x-forwarded-for": "192.0.2.9, 198.51.100.1" })).toBe(403);
  });

  test("without a trusted proxy the header is not believed", async () => {
    const direct = await startTestServer();
    try {
      const { body } = await createKey({ sourceIps: ["192.0.2.9"] });
      const reply = await direct.client(body.key).get("/tenants/protocols", { "x-forwarded-for": "192.0.2.9" });
      expect(reply).toMatchObject({ status: 403, body: { code: "source_address_not_allowed" } });
    } finally {
      await direct.close();
    }
  });
});

describe("lastUsedAt", () => {
  test("is written by the flush, not by the request", async () => {
    const { body } = await createKey({});
    // The periodic flush is not due again during the test, and other tasks write elsewhere than in the tenant.
    await server.tasks.get("key-usage")?.runNow();
    const written = vi.spyOn(server.database, "transaction");
    for (let count = 0; count < 20; count += 1) expect(await statusWith(body.key)).toBe(200);
    const scopes = written.mock.calls.map(([scope]) => scope);
    expect(scopes.filter((scope) => "tenantId" in scope && scope.tenantId === tenant.id)).toEqual([]);
    expect((await tenant.client.get(`/tenants/api-keys/${body.id}`)).body.lastUsedAt).toBeUndefined();

    await server.authenticator.usage.flush();
    const read = await tenant.client.get(`/tenants/api-keys/${body.id}`);
    expect(read.body.lastUsedAt).toBe(clock.now().toISOString());
    expect(read.headers.etag).toBe('"1"');
  });

  test("is not noted for a request that was refused", async () => {
    const { body } = await createKey({ sourceIps: ["192.0.2.9"] });
    expect(await statusWith(body.key)).toBe(403);
    await server.authenticator.usage.flush();
    expect((await tenant.client.get(`/tenants/api-keys/${body.id}`)).body.lastUsedAt).toBeUndefined();
  });
});

describe("the cache of keys", () => {
  test("spares a key seen just now the question to the database", async () => {
    const { body } = await createKey({});
    const asked = vi.spyOn(server.database, "snapshot");
    for (let count = 0; count < 50; count += 1) expect(await statusWith(body.key)).toBe(200);
    const questions = asked.mock.calls.filter(([{ kind }]) => kind === "presented-key").length;
    // One read, and another one after each change to keys that arrived meanwhile, including the creation of this key.
    expect(questions).toBeGreaterThan(0);
    expect(questions).toBeLessThan(10);
  });

  test("lets requests that come together share one question", async () => {
    const { body } = await createKey({});
    const asked = vi.spyOn(server.database, "snapshot");
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusWith(body.key)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(asked.mock.calls.filter(([{ kind }]) => kind === "presented-key")).toHaveLength(1);
  });

  test("is not trusted while the outbox cannot be read", async () => {
    const { body } = await createKey({});
    expect(await statusWith(body.key)).toBe(200);
    const snapshot = server.database.snapshot.bind(server.database);
    const asked = vi.spyOn(server.database, "snapshot").mockImplementation((scope, work) => {
      return scope.kind === "operator" ? Promise.reject(new Error("not now")) : snapshot(scope, work);
    });
    clock.advance(secondMs);
    expect(await statusWith(body.key)).toBe(200);
    clock.advance(secondMs);
    expect(await statusWith(body.key)).toBe(200);
    expect(asked.mock.calls.filter(([{ kind }]) => kind === "presented-key")).toHaveLength(2);
  });
});

test("a key of the wrong kind is named in the refusal", async () => {
  const operatorKey = await server.client(server.operatorKey).get("/tenants/protocols");
  expect(operatorKey.body).toMatchObject({
    code: "invalid_api_key",
    detail: "This is an operator key. The operation requires an API key of a tenant.",
  });
  const apiKey = await server.client(tenant.key).get("/operator/tenants");
  expect(apiKey.body).toMatchObject({
    code: "invalid_api_key",
    detail: "This is an API key of a tenant. The operation requires the operator key.",
  });
});

test("a deleted key is refused, and its record is gone", async () => {
  const { body } = await createKey({});
  expect(await statusWith(body.key)).toBe(200);
  expect(await tenant.client.delete(`/tenants/api-keys/${body.id}`, { "if-match": '"7"' })).toMatchObject({
    status: 412,
  });
  expect((await tenant.client.delete(`/tenants/api-keys/${body.id}`)).status).toBe(204);
  await untilRefused(body.key);
  expect((await tenant.client.get(`/tenants/api-keys/${body.id}`)).status).toBe(404);
});

describe("at rest", () => {
  test("the database holds a key's SHA-256, and the key itself nowhere", async () => {
    const headers = { "idempotency-key": "made-once" };
    const body = { name: "Secret", permissions: ["protocols:read"] };
    const made = await tenant.client.post("/tenants/api-keys", body, headers);
    const again = await tenant.client.post("/tenants/api-keys", body, headers);
    expect(again).toMatchObject({ body: { key: made.body.key }, headers: { "idempotent-replayed": "true" } });
    const rotated = await tenant.client.post(`/tenants/api-keys/${made.body.id}/rotate`, {});

    const client = new pg.Client(inject("database"));
    await client.connect();
    try {
      const { rows: keys } = await client.query("SELECT key_hash FROM api_keys WHERE id = $1", [made.body.id]);
      expect(keys[0].key_hash).toEqual(createHash("sha256").update(made.body.key).digest());
      const { rows: tables } = await client.query(
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
      );
      for (const secret of [made.body.key, rotated.body.key]) {
        // Remove the public prefix. bytea columns read as hexadecimal.
        const hidden = secret.slice("gatehouse_key_".length + 4);
        for (const { name } of tables) {
          const { rows } = await client.query(
            `SELECT count(*)::int AS found FROM ${name} AS item WHERE strpos(to_jsonb(item)::text, $1) > 0 OR strpos(to_jsonb(item)::text, $2) > 0`,
            [hidden, Buffer.from(hidden).toString("hex")],
          );
          expect({ name, found: rows[0].found }).toEqual({ name, found: 0 });
        }
      }
    } finally {
      await client.end();
    }
  });
});
