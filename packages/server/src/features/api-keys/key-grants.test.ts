/** A key never exceeds its creator: in permissions, expiry, or source addresses. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import {
  startTestServer,
  type TestClient,
  type TestReply,
  type TestServer,
  type TestTenant,
} from "../../testing/test-server.ts";

const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await startTestServer({ clock });
  tenant = await server.newTenant();
});
afterAll(() => server.close());

/** A future time by the clock of the test. */
function inSeconds(seconds: number): string {
  return new Date(clock.now().getTime() + seconds * 1000).toISOString();
}

function createKey(client: TestClient, body: object): Promise<TestReply> {
  return client.post("/tenants/api-keys", { name: "Terraform", permissions: ["protocols:read"], ...body });
}

/** A key that may create keys, and its client. */
async function newMaker(limits: object): Promise<{ readonly id: string; readonly client: TestClient }> {
  const made = await createKey(tenant.client, { permissions: ["api-keys:write", "protocols:read"], ...limits });
  expect(made.status).toBe(201);
  return { id: made.body.id, client: server.client(made.body.key) };
}

function rotate(client: TestClient, id: string, headers: Record<string, string> = {}): Promise<TestReply> {
  return client.post(`/tenants/api-keys/${id}/rotate`, {}, headers);
}

function expectRefusal(reply: TestReply, named: string): void {
  expect(reply).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
  expect(reply.body.detail).toContain(named);
}

describe("permissions", () => {
  test.each([
    ["a list", { permissions: ["users:read", "users:write"] }, "users:write"],
    ["a role", { role: "AUDITOR" }, "events:read"],
  ])("by %s are refused beyond the maker's", async (_how, grants, missing) => {
    const maker = server.client(await tenant.keyWith("api-keys:write", "users:read"));
    expectRefusal(await maker.post("/tenants/api-keys", { name: "More", ...grants }), missing);
  });

  test("beyond the maker's are not rotated", async () => {
    const strong = await createKey(tenant.client, { permissions: ["users:write"] });
    const { client } = await newMaker({});
    expectRefusal(await rotate(client, strong.body.id), "users:write");
    expect((await tenant.client.get(`/tenants/api-keys/${strong.body.id}`)).body.replacedBy).toBeUndefined();
  });

  test("that the maker holds may be passed on", async () => {
    const { client } = await newMaker({});
    const made = await createKey(client, {});
    expect((await server.client(made.body.key).get("/tenants/protocols")).status).toBe(200);
  });
});

describe("a maker that expires", () => {
  test("makes keys that end no later than itself", async () => {
    const { client } = await newMaker({ expiresAt: inSeconds(60) });
    expect((await createKey(client, { expiresAt: inSeconds(60) })).status).toBe(201);
    expectRefusal(await createKey(client, { expiresAt: inSeconds(61) }), inSeconds(61));
    expectRefusal(await createKey(client, {}), "never would");
  });

  test("rotates itself, and no key with a longer validity period", async () => {
    const { id, client } = await newMaker({ expiresAt: inSeconds(60) });
    const lasting = await createKey(tenant.client, {});
    expectRefusal(await rotate(client, lasting.body.id), "never would");
    const rotated = await rotate(client, id);
    expect(rotated).toMatchObject({ status: 200, body: { expiresAt: inSeconds(60) } });
  });
});

describe("a maker that is held to source addresses", () => {
  const sourceIps = ["127.0.0.0/8", "2001:db8::/32"];

  test("makes keys for some of them", async () => {
    const { client } = await newMaker({ sourceIps });
    expect((await createKey(client, { sourceIps: ["127.0.0.1", " 2001:db8:1::/48"] })).status).toBe(201);
    expectRefusal(await createKey(client, { sourceIps: ["127.0.0.1", "192.0.2.1"] }), "could be from 192.0.2.1.");
    expectRefusal(await createKey(client, { sourceIps: [] }), "from anywhere");
    expectRefusal(await createKey(client, {}), "from anywhere");
  });

  test("rotates itself, and no key that may be used from elsewhere", async () => {
    const { id, client } = await newMaker({ sourceIps });
    const elsewhere = await createKey(tenant.client, { sourceIps: ["192.0.2.0/24"] });
    expectRefusal(await rotate(client, elsewhere.body.id), "192.0.2.0/24");
    expect(await rotate(client, id)).toMatchObject({ status: 200, body: { sourceIps } });
  });
});

describe("the order of checks", () => {
  test.each([
    ["both permissions and role", { permissions: ["users:write"], role: "AUDITOR" }],
    ["a role that grants nothing", { permissions: undefined, role: "DEFAULT" }],
    ["an expiry that has passed", { permissions: ["users:write"], expiresAt: "2020-01-01T00:00:00.000Z" }],
    ["a source that is not an address", { permissions: ["users:write"], sourceIps: ["example.com"] }],
  ])("has 403 before the 422 for %s", async (_what, body) => {
    const { client } = await newMaker({ expiresAt: inSeconds(60) });
    expectRefusal(await createKey(client, body), "The calling key");
  });

  test("has 404 and 412 before a rotation's 403, and its 409 after", async () => {
    const { client } = await newMaker({});
    const strong = await createKey(tenant.client, { permissions: ["users:write"] });
    await rotate(tenant.client, strong.body.id);
    expect((await rotate(client, "00000000-0000-7000-8000-000000000000")).status).toBe(404);
    expect((await rotate(client, strong.body.id, { "if-match": '"0"' })).status).toBe(412);
    expectRefusal(await rotate(client, strong.body.id), "users:write");
    expect((await rotate(tenant.client, strong.body.id)).status).toBe(409);
  });
});
