import { randomBytes, randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { clearingTask } from "../tasks/clear-tenants.ts";
import { HeldTransaction } from "../testing/held-transaction.ts";
import { TestClock } from "../testing/test-clock.ts";
import { testLog } from "../testing/test-log.ts";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";
import { clearExpiredReplies, tenantsWithExpiredReplies } from "./idempotency.queries.ts";

const dayMs = 24 * 60 * 60 * 1000;
const path = "/tenants/protocols";
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
let administrator: pg.Client;
let headers: { readonly "idempotency-key": string };

beforeAll(async () => {
  server = await startTestServer({ clock });
  tenant = await server.newTenant();
  administrator = new pg.Client(inject("database"));
  await administrator.connect();
});
beforeEach(() => {
  headers = { "idempotency-key": randomUUID() };
});
afterAll(async () => {
  await administrator.end();
  await server.close();
});

function clearExpired(): Promise<void> {
  const { database } = server;
  const failed = "failed to delete expired replies; will retry";
  const options = { tenantsWith: tenantsWithExpiredReplies, clear: clearExpiredReplies };
  return clearingTask({ name: "clearing", intervalMs: 1, database, log: testLog, failed, ...options }).run();
}

function protocol(name: string = randomUUID()) {
  return { name, networkProtocols: [{ protocol: "TCP", port: "8443" }] };
}

async function protocolsNamed(name: string): Promise<number> {
  const { body } = await tenant.client.get(path);
  return body.filter((item: { name: string }) => item.name === name).length;
}

describe("the same Idempotency-Key", () => {
  test("returns the same response, and performs the request once", async () => {
    const body = protocol();
    const first = await tenant.client.post(path, body, headers);
    const second = await tenant.client.post(path, body, headers);
    expect(first.headers["idempotent-replayed"]).toBeUndefined();
    expect(second).toMatchObject({ status: 201, text: first.text, headers: { "idempotent-replayed": "true" } });
    for (const header of ["etag", "location"]) expect(second.headers[header]).toBe(first.headers[header]);
    expect(await protocolsNamed(body.name)).toBe(1);
  });

  test("sent concurrently performs the request once, and all get the response", async () => {
    const body = protocol();
    const replies = await Promise.all(Array.from({ length: 20 }, () => tenant.client.post(path, body, headers)));
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(201);
    expect(await protocolsNamed(body.name)).toBe(1);
  });

  test.each([
    ["another body", path, protocol()],
    ["another operation", "/tenants/resources", { name: "Other", type: "PRIVATE", addresses: [] }],
  ])("with %s is rejected", async (_what, otherPath, otherBody) => {
    await tenant.client.must.post(path, protocol(), headers);
    const reply = await tenant.client.post(otherPath, otherBody, headers);
    expect(reply).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
  });

  test("of another API key is independent", async () => {
    const other = server.client(await tenant.keyWith("protocols:write"));
    expect((await tenant.client.post(path, protocol(), headers)).status).toBe(201);
    expect((await other.post(path, protocol(), headers)).status).toBe(201);
  });

  test("after an error is available for the corrected request", async () => {
    const taken = protocol();
    await tenant.client.must.post(path, taken);
    expect(await tenant.client.post(path, taken, headers)).toMatchObject({ status: 409 });
    expect((await tenant.client.post(path, protocol(), headers)).status).toBe(201);
  });

  test("works for the operator", async () => {
    const body = { name: randomUUID(), ownerEmail: "owner@example.com" };
    const first = await server.operator.post("/operator/tenants", body, headers);
    const second = await server.operator.post("/operator/tenants", body, headers);
    expect(second).toMatchObject({ status: 201, text: first.text, headers: { "idempotent-replayed": "true" } });
  });
});

test.each(["", "x".repeat(256)])("an Idempotency-Key that is empty or too long is rejected", async (key) => {
  const reply = await tenant.client.post(path, protocol(), { "idempotency-key": key });
  expect(reply).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
});

describe("a stored reply", () => {
  test("is encrypted", async () => {
    const body = protocol();
    await tenant.client.must.post(path, body, headers);
    const { rows } = await administrator.query("SELECT reply_ciphertext FROM idempotent_replies WHERE tenant_id = $1", [
      tenant.id,
    ]);
    expect(rows.length).toBeGreaterThan(0);
    for (const { reply_ciphertext } of rows) expect(reply_ciphertext.includes(body.name)).toBe(false);
  });

  test("is ignored after 24 hours, and not earlier", async () => {
    const body = protocol();
    const first = await tenant.client.post(path, body, headers);
    clock.advance(dayMs - 1);
    expect((await tenant.client.post(path, body, headers)).text).toBe(first.text);
    clock.advance(1);
    expect(await tenant.client.post(path, body, headers)).toMatchObject({ status: 409, body: { code: "name_taken" } });
  });

  test("is deleted after it has expired, and not earlier", async () => {
    const other = await server.newTenant();
    await other.client.must.post(path, protocol(), headers);
    const storedReplies = async () => {
      const text = "SELECT count(*)::int AS count FROM idempotent_replies WHERE tenant_id = $1";
      return (await administrator.query(text, [other.id])).rows[0].count;
    };
    await clearExpired();
    expect(await storedReplies()).toBe(1);
    await administrator.query(
      "UPDATE idempotent_replies SET expires_at = now() - interval '1 second' WHERE tenant_id = $1",
      [other.id],
    );
    // Another server of the same database may be deleting them.
    await until("the reply is deleted", async () => {
      await clearExpired();
      return (await storedReplies()) === 0;
    });
  });
});

test("a locked reply does not block the deletion of other tenants' replies", async () => {
  const tenants = [await server.newTenant(), await server.newTenant()];
  const ids = tenants.map(({ id }) => id).toSorted();
  for (const { client } of tenants) await client.must.post(path, protocol(), headers);
  const past = "UPDATE idempotent_replies SET expires_at = now() - interval '1 second' WHERE tenant_id = ANY ($1)";
  await administrator.query(past, [ids]);
  const stored = async () =>
    (await administrator.query("SELECT tenant_id FROM idempotent_replies WHERE tenant_id = ANY ($1)", [ids])).rows;
  const lock = "SELECT FROM idempotent_replies WHERE tenant_id = $1 FOR UPDATE";
  const held = await HeldTransaction.begin(inject("database"), lock, ids[0]);
  try {
    await clearExpired();
    expect(await stored()).toEqual([{ tenant_id: ids[0] }]);
  } finally {
    await held.end();
  }
});

describe("the limits of stored replies", () => {
  const sizes = async (tenantId: string) => {
    const text = `SELECT (SELECT coalesce(sum(size), 0)::int FROM idempotent_replies WHERE tenant_id = $1) AS rows,
      (SELECT coalesce(sum(size), 0)::int FROM idempotent_reply_totals WHERE tenant_id = $1) AS totals,
      (SELECT coalesce(sum(octet_length(reply_ciphertext)), 0)::int FROM idempotent_replies WHERE tenant_id = $1) AS replies`;
    return (await administrator.query(text, [tenantId])).rows[0];
  };
  const fill = (tenantId: string, kind: string, size: number) =>
    administrator.query(
      "INSERT INTO idempotent_reply_totals VALUES ($1, $2, $3) ON CONFLICT (tenant_id, kind) DO UPDATE SET size = $3",
      [tenantId, kind, size],
    );

  test("a question stores no reply, however large, and is answered above the limit", async () => {
    const other = await server.newTenant();
    const evaluations = Array.from({ length: 1_000 }, () => ({}));
    const question = {
      subject: { type: "user", id: "nobody@example.com" },
      action: { name: "connect" },
      resource: { type: "address", id: "192.0.2.1" },
      evaluations,
    };
    for (let request = 0; request < 3; request += 1) {
      const reply = await other.client.post("/access/v1/evaluations", question, { "idempotency-key": randomUUID() });
      expect(reply.status).toBe(200);
    }
    expect(await sizes(other.id)).toEqual({ rows: 768, totals: 768, replies: 0 });
    await fill(other.id, "question", 1024 * 1024);
    const headersOfMore = { "idempotency-key": randomUUID() };
    expect((await other.client.post("/access/v1/evaluations", question, headersOfMore)).status).toBe(200);
    expect((await other.client.post("/access/v1/evaluations", question, headersOfMore)).status).toBe(200);
    expect((await sizes(other.id)).rows).toBe(768);
  });

  test("totals equal the sizes of the rows after writes, expiry and deletion", async () => {
    const other = await server.newTenant();
    const key = { "idempotency-key": randomUUID() };
    await other.client.post(path, protocol(), key);
    await other.client.post(path, protocol(), { "idempotency-key": randomUUID() });
    const before = await sizes(other.id);
    expect(before.rows).toBeGreaterThan(2 * 256);
    expect(before.totals).toBe(before.rows);
    // The key of an expired reply is used again before the reply is deleted.
    clock.advance(dayMs + 1);
    await other.client.post(path, protocol(), key);
    const after = await sizes(other.id);
    expect(after.totals).toBe(after.rows);
    await administrator.query("UPDATE idempotent_replies SET expires_at = now() WHERE tenant_id = $1", [other.id]);
    // Another server of the same database may be deleting them.
    await until("the replies are deleted", async () => {
      await clearExpired();
      return (await sizes(other.id)).rows === 0;
    });
    expect(await sizes(other.id)).toEqual({ rows: 0, totals: 0, replies: 0 });
  });

  test("a full tenant gets 429 for new keys, nothing is changed, and earlier replies stay available", async () => {
    const other = await server.newTenant();
    const first = await other.client.post(path, protocol(), headers);
    const [request] = [protocol()];
    await fill(other.id, "reply", 64 * 1024 * 1024);
    const refused = await other.client.post(path, request, { "idempotency-key": randomUUID() });
    expect(refused).toMatchObject({ status: 429, body: { code: "stored_replies_full" } });
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await other.client.post(path, request)).status).toBe(201);
    expect(first.status).toBe(201);
  });

  test("a large reply is stored compressed, and one above the limit is rejected before anything changes", async () => {
    const other = await server.newTenant();
    const users = (prefix: string) =>
      Array.from({ length: 100 }, (_, index) => ({ email: `${prefix}${index}@example.com`, groups: [] as string[] }));
    const groups = (await other.client.get("/tenants/groups")).body.data.map(({ id }: { id: string }) => id);
    const withGroups = users("a").map((user) => ({ ...user, groups }));
    const made = await other.client.post("/tenants/users", withGroups, headers);
    expect(made.status).toBe(201);
    expect(made.text.length).toBeGreaterThan(64 * 1024);
    expect((await other.client.post("/tenants/users", withGroups, headers)).text).toBe(made.text);

    // Short enough to be compressed. Texts of random digits become about half as long.
    const randomTexts = (prefix: string, count: number) => {
      const notes = () =>
        Array.from({ length: count }, (_, index) => [`note${index}`, randomBytes(128).toString("hex")]);
      return users(prefix).map((user) => ({ ...user, attributes: Object.fromEntries(notes()) }));
    };
    const refused = await other.client.post("/tenants/users", randomTexts("b", 6), { "idempotency-key": randomUUID() });
    expect(refused).toMatchObject({ status: 429, body: { code: "reply_too_large" } });
    const shorter = await other.client.post("/tenants/users", randomTexts("b", 2), { "idempotency-key": randomUUID() });
    expect(shorter.status).toBe(201);
    const random = () => Array.from({ length: 20 }, () => randomUUID()).join("");
    const many: string[] = [];
    for (let index = 0; index < 40; index += 1) {
      const { body } = await other.client.post("/tenants/groups", {
        name: `Group ${index}`,
        description: random(),
        roles: [],
      });
      many.push(body.id);
    }
    const tooMany = users("c").map((user) => ({ ...user, groups: many }));
    const tooLong = await other.client.post("/tenants/users", tooMany, { "idempotency-key": randomUUID() });
    expect(tooLong).toMatchObject({ status: 429, body: { code: "reply_too_large" } });
    expect((await other.client.post("/tenants/users", tooMany)).status).toBe(201);
  });
});
