import { randomUUID } from "node:crypto";
import { isWrite } from "@gatehouse/contract/operation";
import { beforeAll, describe, expect, test } from "vitest";
import { createAccessNetwork, created } from "../../testing/access-network.ts";
import { copyEvents } from "../../testing/copied-events.queries.ts";
import { callerOf, createWorld, pathOf, type TestWorld } from "../../testing/operations/operation-case.ts";
import { namedCases } from "../../testing/operations/operation-cases.ts";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { type RevertingClient, revertingClient } from "../../testing/reverting-client.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;
let lastEvent: RevertingClient["lastEvent"];
let revert: RevertingClient["revert"];
let preview: RevertingClient["preview"];
let reverted: RevertingClient["reverted"];

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
  ({ lastEvent, revert, preview, reverted } = revertingClient(client));
});

describe("a creation", () => {
  test("is reverted by deleting the record, unless something depends on it", async () => {
    const protocol = await makeId("protocol", client);
    const event = await lastEvent(protocol);
    const resource = await created(client, "/tenants/resources", {
      name: unique("Resource"),
      type: "PRIVATE",
      addresses: [{ address: "wiki.example.com", protocols: [protocol] }],
    });
    expect((await preview(event)).body.refused).toMatchObject({ code: "protocol_in_use" });
    expect(await revert(event)).toMatchObject({ status: 409, body: { code: "protocol_in_use" } });
    await reverted(await lastEvent(resource.id));
    await reverted(event);
    expect((await client.get(`/tenants/protocols/${protocol}`)).status).toBe(404);
    expect((await revert(event)).body).toMatchObject({ code: "not_revertible" });
  });
});

describe("a revert", () => {
  test("obeys enforced access tests, unless the caller gives a reason", async () => {
    const other = await server.newTenant();
    const { bob, git, denying } = await createAccessNetwork(server, other);
    await other.client.patch(`/tenants/policies/${denying.id}/deactivate`);
    await other.client.post(`/tenants/policies/${denying.id}/reactivate`);
    await created(other.client, "/tenants/access-tests", {
      name: "Bob stays out",
      enforced: true,
      subject: { type: "user", id: bob.id },
      resource: { type: "resource", id: git.id },
      expected: "denied",
    });
    const event = await revertingClient(other.client).lastEvent(denying.id);
    expect((await revertingClient(other.client).preview(event)).body.access).toMatchObject({
      gained: { users: 1 },
      brokenTests: [{ name: "Bob stays out" }],
    });
    expect(await revertingClient(other.client).revert(event)).toMatchObject({
      status: 409,
      body: { code: "access_tests_broken" },
    });
    const forced = await revertingClient(other.client).revert(event, { "gatehouse-override-reason": "Incident 7" });
    expect(forced.status, forced.text).toBe(200);
    const entry = await other.client.get(`/tenants/events?filter[id]=${forced.headers["gatehouse-event"]}`);
    expect(entry.body.data).toMatchObject([{ operation: "deactivatePolicy", reason: "Incident 7" }]);
  });

  test("requires the permissions of its changes", async () => {
    const { id } = await make("group", client);
    await client.put(`/tenants/groups/${id}`, { description: "New" });
    const event = await lastEvent(id);
    const reader = server.client(await tenant.keyWith("events:read"));
    for (const reply of [await revertingClient(reader).preview(event), await revertingClient(reader).revert(event)]) {
      expect(reply).toMatchObject({ status: 403, body: { code: "permission_denied" } });
      expect(reply.body.detail).toContain("groups:write");
    }
    const writer = server.client(await tenant.keyWith("groups:write"));
    expect((await revertingClient(writer).revert(event)).status).toBe(403);
  });

  test("and its preview are different requests for an Idempotency-Key", async () => {
    const { id } = await make("group", client);
    await client.put(`/tenants/groups/${id}`, { description: "New" });
    const event = await lastEvent(id);
    const key = { "idempotency-key": randomUUID() };
    const path = `/tenants/events/${event}/revert`;
    expect((await client.post(`${path}?preview=true`, undefined, key)).body.preview).toBe(true);
    expect(await client.post(path, undefined, key)).toMatchObject({ body: { code: "idempotency_key_reused" } });
  });
});

describe("every event", () => {
  let world: TestWorld;

  beforeAll(async () => {
    world = await createWorld(server);
  });

  test.each(namedCases.filter(({ operation }) => isWrite(operation) && operation.access !== "operator"))(
    "of $id is reverted, or refused with a reason",
    async ({ operation, prepare }) => {
      const ours = world.ours.tenant.client;
      const request = await prepare(world.ours);
      const countEvents = async () => (await ours.get("/tenants/events?limit=1")).body.total;
      const before = await countEvents();
      await callerOf(operation, world.ours).send(operation.method, pathOf(operation, request.parameters), request.body);
      const made = (await countEvents()) - before;
      expect(made).toBeGreaterThan(0);
      const { data } = (await ours.get(`/tenants/events?sort=-position&limit=${made}`)).body;
      expect(data).toHaveLength(made);
      for (const { id } of data) {
        const planned = await revertingClient(ours).preview(id);
        expect(planned.status, planned.text).toBe(200);
        const { changes, cannot, refused } = planned.body;
        const done = await revertingClient(ours).revert(id);
        if (refused !== undefined) expect(done.body.code).toBe(refused.code);
        else if (changes.length > 0) expect(done.status, done.text).toBe(200);
        else if (cannot.length > 0) expect(done.body.code).toBe("not_revertible");
        else expect(done.body.results).toEqual([]);
        for (const { message } of cannot) expect(message).toMatch(/\.$/);
      }
    },
  );
});

test("a preview waits for no gateway, because it changes nothing", async () => {
  const group = await created(client, "/tenants/groups", { name: unique("Group"), roles: [] });
  const at = `/tenants/events/${await lastEvent(group.id)}/revert`;
  expect((await client.post(`${at}?preview=true&wait=applied`)).headers["gatehouse-enforced"]).toBeUndefined();
  expect((await client.post(`${at}?wait=applied`)).headers["gatehouse-enforced"]).toBeDefined();
});

describe("the recorded history", () => {
  test("with a state that is not valid any more is reported as a refusal by the preview", async () => {
    const { id } = await make("group", client);
    await client.must.put(`/tenants/groups/${id}`, { description: "New" });
    const before = { id, createdAt: "", name: "Group", description: "x".repeat(5_000) };
    const [event = ""] = await copyEvents(server.database, tenant.id, await lastEvent(id), { before });
    const planned = await preview(event);
    expect(planned.status, planned.text).toBe(200);
    expect(planned.body).toMatchObject({
      changes: [{ path: `/tenants/groups/${id}` }],
      refused: {
        code: "invalid_body",
        errors: [{ pointer: "/changes/0" }, { pointer: "/changes/0/body/description" }],
      },
    });
    expect((await revert(event)).body).toMatchObject({ code: "invalid_body" });
  });

  test("is searched beyond 1,000 entries for events that the revert undoes, and the answer says if there are more", async () => {
    const other = await server.newTenant();
    const by = revertingClient(other.client);
    const { id } = await make("group", other.client);
    await other.client.must.put(`/tenants/groups/${id}`, { description: "First" });
    const event = await by.lastEvent(id);
    await other.client.must.put(`/tenants/groups/${id}`, { maxDevices: 7 });
    await copyEvents(server.database, other.id, await by.lastEvent(id), { count: 1_100 });
    await copyEvents(server.database, other.id, event, { count: 3 });
    expect((await by.preview(event)).body).toMatchObject({ undoes: [{}, {}, {}], moreUndone: false });
    await copyEvents(server.database, other.id, await by.lastEvent(id), { count: 1_100 });
    const { undoes, moreUndone } = (await by.preview(event)).body;
    expect({ listed: undoes.length, moreUndone }).toEqual({ listed: 1_000, moreUndone: true });
  });

  test("of a request with too much recorded state is not reverted as a whole, but event by event", async () => {
    const other = await server.newTenant();
    const by = revertingClient(other.client);
    const { id } = await make("group", other.client);
    await other.client.must.put(`/tenants/groups/${id}`, { description: "New" });
    const event = await by.lastEvent(id);
    const before = { id, createdAt: "", name: "Group", description: "x".repeat(1_048_576) };
    await copyEvents(server.database, other.id, event, { count: 16, before });
    const refused = await by.revertRequest(event);
    expect(refused).toMatchObject({ status: 422, body: { code: "revert_too_large" } });
    expect(refused.body.detail).toContain("16 MiB");
    expect((await by.previewRequest(event)).body).toMatchObject({ code: "revert_too_large" });
    await by.reverted(event);
    expect((await other.client.get(`/tenants/groups/${id}`)).body.description).not.toBe("New");
  });

  test("of a request that needs more than 500 requests is refused, and nothing changes", async () => {
    const { client: many } = await server.newTenant();
    const set = await many.must.post("/tenants/changes", {
      changes: Array.from({ length: 6 }, (_, change) => ({
        method: "POST",
        path: "/tenants/users",
        body: Array.from({ length: 100 }, (_, index) => ({ email: `user-${change}-${index}@example.com` })),
      })),
    });
    const refused = await revertingClient(many).revertRequest(set.body.changes[0].events[0]);
    // A busy machine reaches the limit of time first.
    expect(["revert_too_large", "change_set_too_long"]).toContain(refused.body.code);
    expect((await many.get("/tenants/users")).body.total).toBe(601);
  });
});
