import { redactedToken } from "@gatehouse/contract/records/gateway";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { reportHeartbeat, reportStatus } from "../../testing/network-rows.queries.ts";
import { make, makeId } from "../../testing/operations/test-records.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

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

const ago = (seconds: number) => new Date(clock.now().getTime() - seconds * 1000);
const act = (id: string, action: string, headers = {}) =>
  tenant.client.post(`/tenants/gateways/${id}/${action}`, undefined, headers);

async function eventsAbout(id: string) {
  return (await tenant.client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
}

describe.each([
  { on: "enable-relay", off: "disable-relay", field: "relayEnabled", before: false, after: true, restored: false },
  { on: "enter-maintenance", off: "exit-maintenance", field: "status", before: "PENDING", after: "MAINTENANCE" },
])("$on and $off", ({ on, off, field, before, after }) => {
  test("switch, raise the version, and are recorded", async () => {
    const gateway = await make("gateway", tenant.client);
    expect(gateway[field]).toBe(before);
    const switched = await act(gateway.id, on);
    expect(switched).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(switched.body).toEqual({ ...gateway, [field]: after, updatedAt: switched.body.updatedAt });
    const back = await act(gateway.id, off);
    expect(back).toMatchObject({ status: 200, headers: { etag: '"3"' }, body: { [field]: before } });
    expect(await eventsAbout(gateway.id)).toMatchObject([
      { operation: "createGateway" },
      { before: { [field]: before, token: redactedToken }, after: { [field]: after, token: redactedToken } },
      { before: { [field]: after }, after: { [field]: before } },
    ]);
  });

  test("change and record nothing without a difference, but check If-Match", async () => {
    const id = await makeId("gateway", tenant.client);
    expect(await act(id, off)).toMatchObject({ status: 200, headers: { etag: '"1"' }, body: { [field]: before } });
    await act(id, on);
    expect(await act(id, on)).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { [field]: after } });
    expect(await act(id, on, { "if-match": '"1"' })).toMatchObject({ status: 412 });
    expect(await eventsAbout(id)).toHaveLength(2);
  });

  test("change once when asked many times at once", async () => {
    const id = await makeId("gateway", tenant.client);
    const replies = await Promise.all(Array.from({ length: 8 }, () => act(id, on)));
    expect(replies.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await tenant.client.get(`/tenants/gateways/${id}`)).headers.etag).toBe('"2"');
    expect(await eventsAbout(id)).toHaveLength(2);
  });

  test("hide the token from callers that may not see it", async () => {
    const { id } = await make("gateway", tenant.client);
    const writer = server.client(await tenant.keyWith("gateways:write"));
    for (const action of [on, off, off]) {
      const reply = await writer.post(`/tenants/gateways/${id}/${action}`);
      expect(reply).toMatchObject({ status: 200, body: { token: redactedToken } });
    }
  });
});

describe("maintenance", () => {
  test.each(["PENDING", "ONLINE", "OFFLINE", "ERROR"])("begins from %s", async (status) => {
    const id = await makeId("gateway", tenant.client);
    await reportStatus(server, tenant.id, id, status);
    expect(await act(id, "enter-maintenance")).toMatchObject({ status: 200, body: { status: "MAINTENANCE" } });
  });

  test.each([
    ["PENDING", "before the first report", {}],
    ["ONLINE", "heard of lately", { lastOnline: ago(30), deployedOn: ago(900) }],
    ["OFFLINE", "silent for longer than 30 seconds", { lastOnline: ago(31), deployedOn: ago(900) }],
    ["ERROR", "with a failed configuration", { lastOnline: ago(1), deployedOn: ago(900), error: "no such interface" }],
  ])("ends in %s for a gateway %s", async (status, _what, reported) => {
    const id = await makeId("gateway", tenant.client);
    await act(id, "enter-maintenance");
    await reportHeartbeat(server, tenant.id, id, reported);
    expect(await act(id, "exit-maintenance")).toMatchObject({ status: 200, body: { status } });
    expect((await tenant.client.get(`/tenants/gateways/${id}`)).body.status).toBe(status);
  });

  test("takes resources without another gateway offline, and invalidates their cached records", async () => {
    const resource = await make("resource", tenant.client);
    const id = await makeId("gateway", tenant.client);
    await tenant.client.must.put(`/tenants/resources/${resource.id}/gateways/${id}`);
    await reportHeartbeat(server, tenant.id, id, { lastOnline: ago(1), deployedOn: ago(900) });
    await reportStatus(server, tenant.id, id, "ONLINE");
    const status = async () => (await tenant.client.get(`/tenants/resources/${resource.id}`)).body.status;
    expect(await status()).toBe("ONLINE");
    expect(await status()).toBe("ONLINE");
    await act(id, "enter-maintenance");
    expect(await status()).toBe("OFFLINE");
    await act(id, "exit-maintenance");
    expect(await status()).toBe("ONLINE");
  });

  test("can be entered and left concurrently without an error", async () => {
    const id = await makeId("gateway", tenant.client);
    const actions = ["enter-maintenance", "exit-maintenance", "enable-relay", "disable-relay"];
    const replies = await Promise.all([...actions, ...actions, ...actions].map((action) => act(id, action)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe("test-configuration", () => {
  const report = async (id: string) => {
    const reply = await act(id, "test-configuration");
    expect(reply.status, reply.text).toBe(200);
    expect(reply.headers).not.toHaveProperty("etag");
    return reply.body;
  };

  test("says of a new gateway that nothing is known of it", async () => {
    expect(await report(await makeId("gateway", tenant.client))).toEqual({
      status: "UNRECOGNIZED",
      details: expect.stringContaining("no heartbeat yet"),
    });
  });

  test("shows reported heartbeats and failures, and changes nothing", async () => {
    const id = await makeId("gateway", tenant.client);
    const lastOnline = ago(10);
    await reportHeartbeat(server, tenant.id, id, { lastOnline, deployedOn: ago(900) });
    const before = await tenant.client.get(`/tenants/gateways/${id}`);
    expect(await report(id)).toEqual({
      status: "ONLINE",
      details: expect.stringContaining(lastOnline.toISOString()),
    });
    await reportHeartbeat(server, tenant.id, id, { lastOnline, error: "no such interface" });
    expect(await report(id)).toMatchObject({ status: "ERROR", error: "no such interface" });
    await act(id, "enter-maintenance");
    expect(await report(id)).toMatchObject({ status: "MAINTENANCE", error: "no such interface" });
    await act(id, "exit-maintenance");
    clock.advance(20_001);
    expect(await report(id)).toMatchObject({ status: "NOT_REACHABLE", error: "no such interface" });
    expect(before.headers.etag).toBe('"1"');
    const changes = (await eventsAbout(id)).map(({ operation }: { operation: string }) => operation);
    expect(changes).toEqual(["createGateway", "enterGatewayMaintenance", "exitGatewayMaintenance"]);
  });
});
