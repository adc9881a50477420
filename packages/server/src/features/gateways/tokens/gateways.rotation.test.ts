import { createHash } from "node:crypto";
import { redactedToken } from "@gatehouse/contract/records/gateway";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { printedRows, tokensOf } from "../../../testing/network-rows.queries.ts";
import { make, makeId } from "../../../testing/operations/test-records.ts";
import { TestClock } from "../../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

const dayMs = 86_400_000;
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await startTestServer({ clock });
});
afterAll(() => server.close());
beforeEach(async () => {
  tenant = await server.newTenant();
});

const hashOf = (token: string) => createHash("sha256").update(token).digest("hex");
const inMs = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
const rotate = (id: string, body?: object, headers = {}) =>
  tenant.client.post(`/tenants/gateways/${id}/rotate-token`, body, headers);
const tokens = (id: string) => tokensOf(server, tenant.id, id);

describe("rotating a gateway's token", () => {
  test("answers with the new token, and retains the hash of the old one for a day", async () => {
    const gateway = await make("gateway", tenant.client);
    const reply = await rotate(gateway.id);
    expect(reply).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    const { token, updatedAt } = reply.body;
    expect(reply.body).toEqual({ ...gateway, token, updatedAt, formerTokensEndAt: inMs(dayMs) });
    expect(token).toMatch(/^gatehouse_gw_[0-9A-Za-z]{49}$/);
    expect(token).not.toBe(gateway.token);
    expect((await tenant.client.get(`/tenants/gateways/${gateway.id}`)).body.token).toBe(token);
    expect(await tokens(gateway.id)).toEqual({
      current: hashOf(token),
      former: [{ hash: hashOf(gateway.token), endsAt: inMs(dayMs) }],
    });
  });

  test("with a grace of 0 ends all former tokens at once", async () => {
    const { id } = await make("gateway", tenant.client);
    await rotate(id);
    await rotate(id, { graceSeconds: 3600 });
    expect((await tenant.client.get(`/tenants/gateways/${id}`)).body.formerTokensEndAt).toBe(inMs(3_600_000));
    const { body } = await rotate(id, { graceSeconds: 0 });
    expect(body).not.toHaveProperty("formerTokensEndAt");
    expect(await tokens(id)).toEqual({ current: hashOf(body.token), former: [] });
  });

  test("lets no earlier token work longer than it would have, nor longer than the new grace", async () => {
    const gateway = await make("gateway", tenant.client);
    const short = (await rotate(gateway.id, { graceSeconds: 60 })).body.token;
    await rotate(gateway.id, { graceSeconds: 3600 });
    expect((await tokens(gateway.id)).former).toEqual([
      { hash: hashOf(short), endsAt: inMs(3_600_000) },
      { hash: hashOf(gateway.token), endsAt: inMs(60_000) },
    ]);
    await rotate(gateway.id, { graceSeconds: 120 });
    const ends = (await tokens(gateway.id)).former.map(({ endsAt }) => endsAt);
    expect(ends).toEqual([inMs(120_000), inMs(120_000), inMs(60_000)]);
    // The next rotation deletes expired tokens.
    clock.advance(60_000);
    await rotate(gateway.id, { graceSeconds: 120 });
    expect((await tokens(gateway.id)).former).toHaveLength(3);
  });

  test("is refused while ten former tokens are valid, unless it ends them", async () => {
    const { id } = await make("gateway", tenant.client);
    for (let times = 0; times < 10; times += 1) expect(await rotate(id)).toMatchObject({ status: 200 });
    const last = (await tenant.client.get(`/tenants/gateways/${id}`)).body.token;
    expect(await rotate(id)).toMatchObject({ status: 409, body: { code: "too_many_tokens" } });
    expect((await tokens(id)).current).toBe(hashOf(last));
    clock.advance(dayMs);
    expect(await rotate(id)).toMatchObject({ status: 200 });
    expect((await tokens(id)).former).toHaveLength(1);
    for (let times = 0; times < 9; times += 1) await rotate(id);
    expect(await rotate(id, { graceSeconds: 0 })).toMatchObject({ status: 200 });
    expect((await tokens(id)).former).toEqual([]);
  });

  test.each([-1, 0.5, 2_592_001, "60", null])("refuses a grace of %j", async (graceSeconds) => {
    const id = await makeId("gateway", tenant.client);
    expect(await rotate(id, { graceSeconds })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: "/graceSeconds" }] },
    });
  });

  test("twice at once keeps one current token and both former ones", async () => {
    for (let round = 0; round < 4; round += 1) {
      const gateway = await make("gateway", tenant.client);
      const replies = await Promise.all([rotate(gateway.id), rotate(gateway.id)]);
      expect(replies.map(({ status }) => status)).toEqual([200, 200]);
      expect(replies.map(({ headers }) => headers.etag).sort()).toEqual(['"2"', '"3"']);
      const { current, former } = await tokens(gateway.id);
      const made = replies.map(({ body }) => hashOf(body.token));
      expect(made).toContain(current);
      expect([current, ...former.map(({ hash }) => hash)].sort()).toEqual([hashOf(gateway.token), ...made].sort());
    }
  });

  test("twice at once with the same If-Match is done once", async () => {
    const { id } = await make("gateway", tenant.client);
    const current = { "if-match": '"1"' };
    const replies = await Promise.all([rotate(id, {}, current), rotate(id, {}, current)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  test("concurrent with deleting the gateway leaves no tokens", async () => {
    for (let round = 0; round < 4; round += 1) {
      const id = await makeId("gateway", tenant.client);
      await rotate(id);
      const [rotated, deleted] = await Promise.all([rotate(id), tenant.client.delete(`/tenants/gateways/${id}`)]);
      expect([200, 404]).toContain(rotated.status);
      expect(deleted.status).toBe(204);
      expect(await tokens(id)).toEqual({ current: "none", former: [] });
    }
  });
});

describe("a rotated token", () => {
  test("is hidden from callers that may rotate but not see tokens; gateways:token can read it afterwards", async () => {
    const gateway = await make("gateway", tenant.client);
    const writer = server.client(await tenant.keyWith("gateways:write"));
    const reply = await writer.post(`/tenants/gateways/${gateway.id}/rotate-token`);
    expect(reply).toMatchObject({ status: 200, body: { token: redactedToken } });
    const { body } = await tenant.client.get(`/tenants/gateways/${gateway.id}`);
    expect(body.token).toMatch(/^gatehouse_gw_/);
    expect(body.token).not.toBe(gateway.token);
  });

  test("updates cached records of resources", async () => {
    const gateway = await make("gateway", tenant.client);
    const resource = await make("resource", tenant.client);
    await tenant.client.must.put(`/tenants/resources/${resource.id}/gateways/${gateway.id}`);
    const shown = async () => (await tenant.client.get(`/tenants/resources/${resource.id}`)).body.gateways[0].token;
    expect([await shown(), await shown()]).toEqual([gateway.token, gateway.token]);
    const { body } = await rotate(gateway.id);
    expect(await shown()).toBe(body.token);
  });

  test("stores nothing in clear text, and records the validity of former tokens", async () => {
    const gateway = await make("gateway", tenant.client);
    const reply = await rotate(gateway.id, { graceSeconds: 60 }, { "idempotency-key": "rotation" });
    const again = await rotate(gateway.id, { graceSeconds: 60 }, { "idempotency-key": "rotation" });
    expect(again).toMatchObject({ headers: { "idempotent-replayed": "true" }, body: reply.body });
    const forms = [gateway.token, reply.body.token].flatMap((token: string) => [
      token,
      Buffer.from(token).toString("hex"),
    ]);
    for (const table of [
      "gateways",
      "former_gateway_tokens",
      "audit_events",
      "outbox",
      "idempotent_replies",
    ] as const) {
      const rows = await printedRows(server, tenant.id, table);
      expect(rows, table).not.toEqual([]);
      for (const form of forms) expect(rows.join("\n"), table).not.toContain(form);
    }
    const { body } = await tenant.client.get(`/tenants/events?filter[operation]=rotateGatewayToken`);
    expect(body.data).toMatchObject([
      { before: { token: redactedToken }, after: { token: redactedToken, formerTokensEndAt: inMs(60_000) } },
    ]);
  });
});
