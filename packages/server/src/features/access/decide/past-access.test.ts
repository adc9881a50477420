import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccessNetwork } from "../../../testing/access-network.ts";
import { publicKey, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { TestClock } from "../../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

const hourMs = 60 * 60_000;
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;
/** A time before the first tenant. */
let beginning: string;
/** Times after which records were changed. */
const moments: string[] = [];

/** Returns the current time, and advances the clock. */
function mark(): string {
  clock.advance(hourMs);
  const moment = clock.now().toISOString();
  clock.advance(hourMs);
  return moment;
}

beforeAll(async () => {
  server = await startTestServer({ clock });
  beginning = mark();
  tenant = await server.newTenant();
  network = await createAccessNetwork(server, tenant);
  const { client } = tenant;
  const done = async (reply: Promise<{ readonly status: number; readonly text: string }>) => {
    const { status, text } = await reply;
    expect(status, text).toBeLessThan(300);
    moments.push(mark());
  };
  moments.push(mark());
  await done(client.delete(`/tenants/users/${network.bob.id}`));
  await done(client.patch(`/tenants/resources/${network.git.id}`, { name: "Source code" }));
  await done(client.patch(`/tenants/policies/${network.denying.id}`, { allUsers: true }));
});
afterAll(() => server.close());

const ask = (query: Record<string, string>) => tenant.client.get(`/tenants/access?${new URLSearchParams(query)}`);
const at = (index: number) => moments[index] ?? "";

test("lists the past access of a user with the policy, by the names of that time", async () => {
  const ann = { id: network.ann.id, name: network.ann.email };
  const device = { id: network.ann.device, name: `Laptop of ${network.ann.email}` };
  const found = (name: string) => ({
    total: 1,
    data: [
      {
        user: ann,
        device,
        resource: { id: network.git.id, name },
        policy: network.allowing,
        gateways: expect.arrayContaining(network.gateways),
      },
    ],
  });
  for (const asked of [
    { user: network.ann.id },
    { user: network.ann.email.toUpperCase() },
    { device: network.ann.device },
  ]) {
    expect((await ask({ ...asked, at: at(0) })).body).toMatchObject(found("Git"));
    expect((await ask({ ...asked, at: at(2) })).body).toMatchObject(found("Source code"));
    expect((await ask({ ...asked, at: at(3) })).body).toMatchObject({ total: 0, data: [] });
    expect((await ask(asked)).body).toMatchObject({ total: 0, data: [] });
  }
});

test("finds the past access to a resource by its former name", async () => {
  expect((await ask({ resource: "Git", at: at(1) })).body).toMatchObject({
    total: 1,
    data: [{ user: { id: network.ann.id } }],
  });
  const later = await ask({ resource: "Git", at: at(2) });
  expect({ status: later.status, code: later.body.code }).toEqual({ status: 404, code: "not_found" });
  expect((await ask({ resource: "Source code", at: at(2), user: network.ann.email })).body.total).toBe(1);
  expect((await ask({ resource: network.wiki.id, at: at(0) })).body.total).toBe(0);
});

test("finds deleted records at earlier times", async () => {
  expect((await ask({ user: network.bob.email, at: at(0) })).status).toBe(200);
  expect((await ask({ user: network.bob.email, at: at(1) })).status).toBe(404);
});

test("time conditions are decided for that moment, and so are addresses", async () => {
  const { client } = tenant;
  const [before, policy] = [mark(), `/tenants/policies/${network.denying.id}`];
  await client.must.patch(policy, { allUsers: false, sourceIps: ["192.0.2.0/24"] });
  await client.must.patch(`/tenants/policies/${network.allowing.id}`, { sourceIps: ["192.0.2.0/24"] });
  const after = mark();
  expect((await ask({ device: network.ann.device, at: before })).body.total).toBe(0);
  expect((await ask({ device: network.ann.device, at: after })).body.total).toBe(0);
  expect((await ask({ device: network.ann.device, at: after, sourceIp: "192.0.2.7" })).body.total).toBe(1);
});

test("a moment before the history begins is refused with the moment that it begins at", async () => {
  const { status, body } = await ask({ user: network.ann.id, at: beginning });
  expect({ status, code: body.code }).toEqual({ status: 404, code: "before_history" });
  expect(body.detail).toMatch(/begins at \d{4}-\d\d-\d\dT/);
});

test("the start of the history is the earliest time for which access can be listed", async () => {
  const { body } = await tenant.client.must.get("/tenants/access/history");
  expect((await ask({ user: "owner@example.com", at: body.begins })).status).toBe(200);
  const before = new Date(Date.parse(body.begins) - 1).toISOString();
  expect((await ask({ user: "owner@example.com", at: before })).body.code).toBe("before_history");
});

test("names the generation in force at a time, and the current one", async () => {
  const historyAt = async (query: string) => (await tenant.client.must.get(`/tenants/access/history${query}`)).body;
  const changes = await tenant.client.must.get(
    `/tenants/events?filter[createdAt][lte]=${at(1)}&sort=-position&limit=1`,
  );
  const [change] = changes.body.data;
  expect(await historyAt(`?at=${at(1)}`)).toMatchObject({ at: at(1), generation: change.generation });
  const now = await historyAt("");
  expect(now.at).toBe(clock.now().toISOString());
  expect(now.generation).toBeGreaterThan(change.generation);
  expect((await ask({ user: network.ann.id, at: now.at })).status).toBe(200);
  expect(await historyAt(`?at=${beginning}`)).not.toHaveProperty("generation");
});

test.each([["yesterday"], ["9999-01-01T00:00Z"]])("the history has no generation at %s", async (time) => {
  const { status, body } = await tenant.client.get(`/tenants/access/history?at=${time}`);
  expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_parameter" });
  expect(body.errors).toMatchObject([{ pointer: "at" }]);
});

test.each([
  [{}, "user"],
  [{ user: "ann@example.com", at: "9999-01-01T00:00Z" }, "at"],
  [{ user: "ann@example.com", at: "yesterday" }, "at"],
  [{ user: "ann@example.com", sourceIp: "here" }, "sourceIp"],
  [{ user: "ann@example.com", country: "de" }, "country"],
  [{ user: "" }, "user"],
  [{ user: "x".repeat(257) }, "user"],
  [{ user: "ann@example.com", sort: "user" }, "sort"],
])("a question that cannot be read is refused: %j", async (query, parameter) => {
  const { status, body } = await ask(query);
  expect({ status, code: body.code }).toEqual({ status: 400, code: "invalid_parameter" });
  expect(body.errors).toMatchObject([{ pointer: parameter }]);
});

test("pages together hold the complete result", async () => {
  const { client } = tenant;
  const created: string[] = [];
  for (const index of [1, 2, 3, 4, 5]) {
    const { body } = await client.post("/tenants/resources", { name: `Site ${index}`, type: "SAAS", addresses: [] });
    created.push(body.id);
  }
  await client.must.post("/tenants/policies", {
    name: "Sites",
    type: "SAAS",
    action: true,
    users: [network.ann.id],
    resources: created,
  });
  const moment = mark();
  const seen: string[] = [];
  for (const offset of [0, 4, 8]) {
    const { body } = await ask({ user: network.ann.id, at: moment, limit: "4", offset: String(offset) });
    expect(body).toMatchObject({ total: 10, limit: 4, page: offset / 4, hasNext: offset < 8, hasPrevious: offset > 0 });
    for (const { device, resource } of body.data) seen.push(`${device?.id ?? "none"} ${resource.id}`);
  }
  expect(new Set(seen)).toEqual(
    new Set(["none", network.ann.device].flatMap((device) => created.map((id) => `${device} ${id}`))),
  );
});

test("the answer says whether load balancing orders the gateways", async () => {
  const { client } = tenant;
  const user = (await client.must.post("/tenants/users", { email: uniqueEmail() })).body;
  const laptop = { name: "Laptop", userId: user.id, hardwareId: "SERIAL-2", publicKey: publicKey() };
  const device = (await client.must.post("/tenants/devices", laptop)).body;
  const body = { name: "Balanced", type: "SAAS", addresses: [] };
  const resource = (await client.must.post("/tenants/resources", body)).body;
  const policy = { name: "Balanced", type: "SAAS", action: true, users: [user.id], resources: [resource.id] };
  await client.must.post("/tenants/policies", policy);
  const gateways = network.gateways.map(({ id }) => id);
  const ordered = async (loadBalancingMode: string, used: readonly string[]) => {
    await client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, { loadBalancingMode, gateways: used });
    const { data } = (await ask({ device: device.id, resource: resource.id, at: mark() })).body;
    return data.map(({ balanced }: { readonly balanced: boolean }) => balanced);
  };
  expect(await ordered("MANUAL", gateways)).toEqual([false]);
  expect(await ordered("AUTOMATIC", gateways)).toEqual([true]);
  expect(await ordered("AUTOMATIC", gateways.slice(0, 1))).toEqual([false]);
});
