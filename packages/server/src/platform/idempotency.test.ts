import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { clearExpiredReplies } from "./idempotency.queries.ts";

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
    await tenant.client.post(path, protocol(), headers);
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
    await tenant.client.post(path, taken);
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
    await tenant.client.post(path, body, headers);
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
    await other.client.post(path, protocol(), headers);
    const storedReplies = async () => {
      const text = "SELECT count(*)::int AS count FROM idempotent_replies WHERE tenant_id = $1";
      return (await administrator.query(text, [other.id])).rows[0].count;
    };
    await clearExpiredReplies(server.database);
    expect(await storedReplies()).toBe(1);
    await administrator.query("UPDATE idempotent_replies SET expires_at = now() WHERE tenant_id = $1", [other.id]);
    await clearExpiredReplies(server.database);
    expect(await storedReplies()).toBe(0);
  });
});
