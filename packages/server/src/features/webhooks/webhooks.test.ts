import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unique, webhookUrl } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { insertStaleDelivery, rowsOfWebhook, sealedSecrets } from "../../testing/webhook-rows.queries.ts";
import { createWebhook } from "../../testing/webhook-world.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});

const lastEvents = async (count: number) =>
  (await tenant.client.get(`/tenants/events?sort=-id&limit=${count}`)).body.data;

describe("a new webhook", () => {
  test("is shown with its secret this once", async () => {
    const settings = { name: "Inventory", url: webhookUrl, events: ["user.*"], description: "Counts people." };
    const { status, body, headers } = await tenant.client.post("/tenants/webhooks", settings);
    expect(status).toBe(201);
    const { secret, ...webhook } = body;
    expect(webhook).toMatchObject({ ...settings, active: true });
    expect(secret).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/);
    const read = await tenant.client.get(headers.location ?? "");
    expect(read.body).toEqual(webhook);
    expect((await tenant.client.get("/tenants/webhooks")).body).toEqual([webhook]);
  });

  test("defaults to the host of its URL as name, and to all events", async () => {
    const body = await createWebhook(tenant, "https://Hooks.Invalid:8443/a b");
    expect(body).toMatchObject({
      name: "hooks.invalid",
      url: "https://hooks.invalid:8443/a%20b",
      events: [],
      active: true,
    });
  });

  test("shows its secret only in the answer, and stores it encrypted", async () => {
    const { id, secret } = await createWebhook(tenant, webhookUrl);
    const { body: rotated } = await tenant.client.post(`/tenants/webhooks/${id}/rotate-secret`);
    const sealed = await sealedSecrets(server.database, tenant.id, id);
    expect(sealed).toHaveLength(2);
    for (const text of [secret, rotated.secret]) {
      expect(JSON.stringify(await lastEvents(10))).not.toContain(text.slice(6));
      for (const ciphertext of sealed) expect(ciphertext.includes(text.slice(6))).toBe(false);
    }
  });

  test("requires the permission to read events for creation and for changes of URL or events", async () => {
    const client = server.client(await tenant.keyWith("webhooks:read", "webhooks:write"));
    const refused = {
      status: 403,
      body: { code: "permission_denied", detail: expect.stringContaining("events:read") },
    };
    expect(await client.post("/tenants/webhooks", { url: webhookUrl })).toMatchObject(refused);
    const { id } = await createWebhook(tenant, webhookUrl);
    for (const body of [{ url: webhookUrl }, { events: [] }, { active: true }]) {
      expect(await client.patch(`/tenants/webhooks/${id}`, body)).toMatchObject(refused);
    }
    expect((await client.patch(`/tenants/webhooks/${id}`, { name: "Renamed", active: false })).status).toBe(200);
  });

  test.each([
    ["http://hooks.invalid/", "/url: is not https"],
    ["https://127.0.0.1/", "/url: names 127.0.0.1"],
    ["https://user:pass@hooks.invalid/", "/url: holds a user name or a password"],
  ])("cannot have the URL %s", async (url, detail) => {
    const { status, body } = await tenant.client.post("/tenants/webhooks", { url });
    expect({ status, code: body.code }).toEqual({ status: 422, code: "invalid_webhook_url" });
    expect(body.detail).toContain(detail);
    expect(body.errors).toMatchObject([{ pointer: "/url" }]);
  });

  test("refuses unknown events", async () => {
    const { status, body } = await tenant.client.post("/tenants/webhooks", {
      url: webhookUrl,
      events: ["user.*", "usr.*"],
    });
    expect({ status, code: body.code }).toEqual({ status: 422, code: "unknown_event_type" });
    expect(body.errors).toEqual([
      { pointer: "/events/1", message: '"usr.*" is not an event type; did you mean user.*?' },
    ]);
  });

  test.each([
    [{ url: "" }],
    [{ url: `https://hooks.invalid/${"x".repeat(2000)}` }],
    [{ url: webhookUrl, events: Array.from({ length: 101 }, (_, index) => `a${index}`) }],
    [{ url: webhookUrl, events: ["user.*", "user.*"] }],
    [{ url: webhookUrl, active: "yes" }],
    [{ url: webhookUrl, secret: "whsec_AAAA" }],
    [{}],
  ])("has to be well-formed: %j", async (body) => {
    expect((await tenant.client.post("/tenants/webhooks", body)).status).toBe(400);
  });

  test("is refused beyond twenty, even for concurrent requests", async () => {
    const replies = await Promise.all(
      Array.from({ length: 25 }, () => tenant.client.post("/tenants/webhooks", { url: webhookUrl })),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(20);
    const refused = replies.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
      Array.from({ length: 5 }, () => [409, "webhook_limit_reached"]),
    );
    expect((await tenant.client.get("/tenants/webhooks")).body).toHaveLength(20);
  });
});

describe("a change", () => {
  test.each(["put", "patch"] as const)("by %s keeps the fields that it does not name", async (method) => {
    const { id, secret: _, ...before } = await createWebhook(tenant, webhookUrl, { description: "Old." });
    const { body } = await tenant.client[method](`/tenants/webhooks/${id}`, {
      description: "",
      events: ["user.created"],
    });
    const { description: _old, updatedAt: _then, ...rest } = before;
    expect(body).toEqual({ id, ...rest, updatedAt: body.updatedAt, events: ["user.created"] });
    const [event] = await lastEvents(1);
    expect(event).toMatchObject({ target: { type: "webhook", id }, before: { description: "Old." }, after: body });
  });

  test("without changes keeps version and record", async () => {
    const { id, url, name, events } = await createWebhook(tenant, webhookUrl);
    const before = await tenant.client.get(`/tenants/webhooks/${id}`);
    const after = await tenant.client.patch(`/tenants/webhooks/${id}`, { url, name, events, active: true });
    expect(after.headers.etag).toBe(before.headers.etag);
    expect((await lastEvents(1))[0]).toMatchObject({ operation: "createWebhook" });
  });

  test("is validated like a new one", async () => {
    const { id } = await createWebhook(tenant, webhookUrl);
    const path = `/tenants/webhooks/${id}`;
    expect((await tenant.client.patch(path, { url: "https://10.0.0.1/" })).body.code).toBe("invalid_webhook_url");
    expect((await tenant.client.put(path, { events: ["nothing"] })).body.code).toBe("unknown_event_type");
    expect((await tenant.client.get(path)).body.url).toBe(webhookUrl);
  });
});

describe("the delivery log", () => {
  test("lists test messages, can be filtered and read, and belongs to the webhook", async () => {
    const webhook = await createWebhook(tenant, webhookUrl);
    const other = await createWebhook(tenant, webhookUrl);
    const path = `/tenants/webhooks/${webhook.id}`;
    const { body: tested, headers } = await tenant.client.post(`${path}/test`);
    expect(tested).toMatchObject({ webhookId: webhook.id, type: "webhook.test", status: "PENDING", attempts: [] });
    expect(tested).not.toHaveProperty("eventId");
    const read = await tenant.client.get(`${path}/deliveries/${tested.id}`);
    expect(read).toMatchObject({ body: tested, headers: { etag: headers.etag } });
    const total = async (query: string) => (await tenant.client.get(`${path}/deliveries?${query}`)).body.total;
    expect(await total("filter[status]=PENDING")).toBe(1);
    expect(await total("filter[status]=FAILED")).toBe(0);
    expect(await total("filter[type]=webhook.test&sort=-createdAt")).toBe(1);
    expect(await total(`filter[eventId]=${randomUUID()}`)).toBe(0);
    expect((await tenant.client.get(`/tenants/webhooks/${other.id}/deliveries`)).body.total).toBe(0);
    for (const method of ["GET", "POST"] as const) {
      const ending = method === "POST" ? "/redeliver" : "";
      const strange = `/tenants/webhooks/${other.id}/deliveries/${tested.id}${ending}`;
      expect((await tenant.client.send(method, strange)).status).toBe(404);
    }
    const { status } = await tenant.client.get(`/tenants/webhooks/${randomUUID()}/deliveries`);
    expect(status).toBe(404);
  });

  test("is deleted with its webhook and with its tenant", async () => {
    for (const removed of ["webhook", "tenant"]) {
      const own = await server.newTenant();
      const { id } = await createWebhook(own, webhookUrl);
      await own.client.must.post(`/tenants/webhooks/${id}/test`);
      expect(await rowsOfWebhook(server.database, own.id, id)).toBe(2);
      const gone =
        removed === "webhook"
          ? await own.client.delete(`/tenants/webhooks/${id}`)
          : await server.operator.delete(`/operator/tenants/${own.id}`);
      expect(gone.status).toBe(204);
      expect(await rowsOfWebhook(server.database, own.id, id), `of a deleted ${removed}`).toBe(0);
    }
  });
});

test("deactivating a webhook ends pending deliveries and refuses further ones", async () => {
  const { id } = await createWebhook(tenant, webhookUrl);
  const path = `/tenants/webhooks/${id}`;
  const { body: tested } = await tenant.client.post(`${path}/test`);
  await tenant.client.must.patch(path, { active: false });
  expect((await tenant.client.get(`${path}/deliveries/${tested.id}`)).body).toMatchObject({
    status: "FAILED",
    nextAttemptAt: null,
  });
  for (const action of ["test", `deliveries/${tested.id}/redeliver`]) {
    const { status, body } = await tenant.client.post(`${path}/${action}`);
    expect({ status, code: body.code }).toEqual({ status: 409, code: "webhook_inactive" });
  }
});

test("a message whose event was cleared from the audit record cannot be delivered again", async () => {
  const { id } = await createWebhook(tenant, webhookUrl);
  const deliveryId = randomUUID();
  await insertStaleDelivery(server.database, tenant.id, id, deliveryId);
  const { status, body } = await tenant.client.post(`/tenants/webhooks/${id}/deliveries/${deliveryId}/redeliver`);
  expect({ status, code: body.code }).toEqual({ status: 409, code: "webhook_event_gone" });
});

test("a key that may read may not write", async () => {
  const reader = server.client(await tenant.keyWith("webhooks:read"));
  const { id } = await createWebhook(tenant, webhookUrl);
  expect((await reader.get(`/tenants/webhooks/${id}`)).status).toBe(200);
  expect((await reader.patch(`/tenants/webhooks/${id}`, { name: unique("Webhook") })).status).toBe(403);
});
