import { beforeAll, describe, expect, test } from "vitest";
import { created } from "../../testing/access-network.ts";
import { make, makeId, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { type RevertingClient, revertingClient } from "../../testing/reverting-client.ts";
import { rowCounts } from "../../testing/row-counts.queries.ts";
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

describe("an update", () => {
  test("is reverted field by field, and later changes of other fields remain", async () => {
    const { id, name } = await make("group", client);
    await client.put(`/tenants/groups/${id}`, { name: unique("Renamed"), maxDevices: 9 });
    const event = await lastEvent(id);
    await client.put(`/tenants/groups/${id}`, { description: "Later" });
    const before = await rowCounts(server.database, tenant.id);

    const planned = await preview(event);
    expect(planned.status, planned.text).toBe(200);
    expect(planned.body).toMatchObject({
      event,
      preview: true,
      changes: [{ method: "PUT", path: `/tenants/groups/${id}`, body: { name, maxDevices: 5 } }],
      records: [{ target: { type: "group", id }, before: { maxDevices: 9 }, after: { name, maxDevices: 5 } }],
      recordCount: 1,
      undoes: [],
      cannot: [],
      access: { gained: { pairs: 0 }, brokenTests: [] },
    });
    expect(planned.headers.etag).toBe(`"${planned.body.generation}"`);
    expect(planned.headers["gatehouse-event"]).toBeUndefined();
    expect(await rowCounts(server.database, tenant.id)).toEqual(before);

    const done = await revert(event, { "if-match": planned.headers.etag ?? "" });
    expect(done.status, done.text).toBe(200);
    const { preview: _preview, generation, results, access: _none, ...same } = done.body;
    expect(planned.body).toMatchObject({ ...same, records: [{ target: { id } }] });
    expect(generation).toBe(planned.body.generation + 1);
    expect(results).toMatchObject([{ status: 200, events: [done.headers["gatehouse-event"]] }]);
    expect((await client.get(`/tenants/groups/${id}`)).body).toMatchObject({
      name,
      maxDevices: 5,
      description: "Later",
    });
    expect((await revert(event, { "if-match": planned.headers.etag ?? "" })).status).toBe(412);
    // The record has its previous values now, so a second revert changes nothing.
    const again = await revert(event);
    expect(again).toMatchObject({ status: 200, body: { changes: [], results: [], generation } });
  });

  interface Update {
    readonly name: string;
    readonly make: (by: TestClient) => Promise<string>;
    readonly verb: "PUT" | "PATCH" | "POST";
    readonly path: (id: string) => string;
    readonly read?: (id: string) => string;
    readonly body: (by: TestClient) => Promise<object>;
  }

  const at = (folder: string) => (id: string) => `/tenants/${folder}/${id}`;
  const internet = async (by: TestClient, action: boolean) =>
    (await created(by, "/tenants/policies", { name: unique("Policy"), type: "INTERNET", action, allUsers: true })).id;

  test.each<Update>([
    {
      name: "a user's profile",
      make: (by) => makeId("user", by),
      verb: "PUT",
      path: at("users"),
      body: async () => ({ firstName: "Ann", lastName: "Lee", image: "/ann.png" }),
    },
    {
      name: "a user's limit and attributes",
      make: (by) => makeId("user", by),
      verb: "PATCH",
      path: at("users"),
      body: async () => ({ maxDevices: 3, attributes: { team: "a" } }),
    },
    {
      name: "a group",
      make: (by) => makeId("group", by),
      verb: "PUT",
      path: at("groups"),
      body: async (by) => ({
        name: unique("Group"),
        description: "Text",
        maxDevices: 9,
        roles: [await makeId("role", by)],
        idpMapping: ["staff"],
      }),
    },
    {
      name: "a device's posture",
      make: async (by) => {
        const id = await makeId("device", by);
        await by.must.put(`/tenants/devices/${id}/posture`, { diskEncrypted: false });
        return id;
      },
      verb: "PUT",
      path: (id) => `/tenants/devices/${id}/posture`,
      read: at("devices"),
      body: async () => ({ diskEncrypted: true }),
    },
    {
      name: "a gateway",
      make: (by) => makeId("gateway", by),
      verb: "PUT",
      path: at("gateways"),
      body: async () => ({ wireguardPort: "51999", endpoint: "gw.example.com", description: "Text" }),
    },
    {
      name: "a gateway's settings",
      make: (by) => makeId("gateway", by),
      verb: "PUT",
      path: (id) => `/tenants/gateways/${id}/settings`,
      read: (id) => `/tenants/gateways/${id}/settings`,
      body: async () => ({
        resolvers: ["192.0.2.53"],
        domains: [{ domain: "example.com", resolvers: ["192.0.2.54"] }],
        networks: ["192.0.2.0/24"],
        relayPort: "51830",
      }),
    },
    {
      name: "a policy",
      make: (by) => makeId("policy", by),
      verb: "PATCH",
      path: at("policies"),
      body: async (by) => ({
        name: unique("Policy"),
        allUsers: false,
        groups: [await makeId("group", by)],
        users: [await makeId("user", by)],
        gateways: [await makeId("gateway", by)],
        sourceIps: ["192.0.2.1"],
        rule: await makeId("admission-rule", by),
        description: "Text",
      }),
    },
    {
      name: "a policy's mode",
      make: (by) => internet(by, true),
      verb: "PATCH",
      path: at("policies"),
      body: async () => ({ mode: "RESTRICTED" }),
    },
    {
      name: "an access test",
      make: (by) => makeId("access-test", by),
      verb: "PUT",
      path: at("access-tests"),
      body: async (by) => ({
        description: "Text",
        subject: { type: "user", id: await makeId("user", by) },
        device: "none",
        resource: { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 22 } },
        context: { time: "2026-01-31T12:00:00Z" },
        expected: "allowed",
      }),
    },
    {
      name: "a webhook",
      make: (by) => makeId("webhook", by),
      verb: "PATCH",
      path: at("webhooks"),
      body: async () => ({ name: unique("Webhook"), events: ["user.*"], active: false, description: "Text" }),
    },
    {
      name: "an admission rule",
      make: (by) => makeId("admission-rule", by),
      verb: "PUT",
      path: at("admission-rules"),
      body: async () => ({ name: unique("Rule"), rule: "now.getHours('UTC') < 20", hasTimeConstraint: true }),
    },
    {
      name: "an address",
      make: (by) => makeId("address", by),
      verb: "PUT",
      path: at("addresses"),
      body: async (by) => ({
        address: "git.example.com",
        protocols: [await makeId("protocol", by)],
        answersWithin: ["10.0.0.0/8", "fd00::/8"],
      }),
    },
    {
      name: "a resource",
      make: (by) => makeId("resource", by),
      verb: "PATCH",
      path: at("resources"),
      body: async () => ({ name: unique("Resource"), description: "Text" }),
    },
  ])("of $name is reverted, and so is its revert", async ({ make: create, verb, path, read = path, body }) => {
    const id = await create(client);
    const settings = async () => {
      const { updatedAt: _time, ...state } = (await client.get(read(id))).body;
      return state;
    };
    const before = await settings();
    const done = await client.send(verb, path(id), await body(client));
    expect(done.status, done.text).toBeLessThan(300);
    const after = await settings();
    expect(after).not.toEqual(before);
    const { cannot } = await reverted(await lastEvent(id));
    expect(cannot).toEqual([]);
    expect(await settings()).toEqual(before);
    await reverted(await lastEvent(id));
    expect(await settings()).toEqual(after);
  });

  test("that gave a policy its first mode is reverted, except for the mode", async () => {
    const id = await internet(client, false);
    await client.must.patch(`/tenants/policies/${id}`, { action: true });
    const { cannot } = await reverted(await lastEvent(id));
    expect(cannot).toMatchObject([{ code: "unsupported", field: "mode" }]);
    expect((await client.get(`/tenants/policies/${id}`)).body).toMatchObject({ action: false, mode: "LOCAL" });
  });

  test("that gave a device its first posture is reverted to an empty one, and the preview says so", async () => {
    const { id } = await make("device", client);
    await client.must.put(`/tenants/devices/${id}/posture`, { diskEncrypted: true });
    const event = await lastEvent(id);
    const reason = { code: "unsupported", field: "posture", message: expect.stringContaining("empty posture") };
    expect((await preview(event)).body.cannot).toMatchObject([reason]);
    expect((await reverted(event)).cannot).toMatchObject([reason]);
  });

  test("of a role that a group also gives is not reverted, and the preview says so", async () => {
    const { body: roles } = await client.get("/tenants/roles");
    const { id: role } = roles.find(({ type }: { type: string }) => type === "SUPPORT");
    const group = await client.must.post("/tenants/groups", { name: unique("Group"), roles: [role] });
    const user = await client.must.post("/tenants/users", { email: uniqueEmail(), groups: [group.body.id] });
    await client.must.patch(`/tenants/users/${user.body.id}/roles`, { addedRoles: [role] });
    const event = await lastEvent(user.body.id);
    expect((await preview(event)).body).toMatchObject({
      changes: [],
      cannot: [{ code: "unsupported", field: "roles", message: expect.stringContaining("groups also give") }],
    });
    expect((await revert(event)).body).toMatchObject({ code: "not_revertible" });
  });

  test("names the later events that it undoes", async () => {
    const { id } = await make("group", client);
    await client.put(`/tenants/groups/${id}`, { description: "First", maxDevices: 7 });
    const event = await lastEvent(id);
    await client.put(`/tenants/groups/${id}`, { description: "Second" });
    const undone = await lastEvent(id);
    expect((await preview(event)).body.undoes).toMatchObject([{ id: undone, fields: ["description"] }]);
  });

  test("returns policies to their order", async () => {
    const other = await server.newTenant();
    for (const _each of [1, 2, 3]) await make("policy", other.client);
    const order = async () => {
      const { body } = await other.client.get("/tenants/policies?filter[type]=PRIVATE&sort=order");
      return body.data.map(({ id }: { id: string }) => id);
    };
    const before = await order();
    await other.client.post("/tenants/policies/reorder", { type: "PRIVATE", policies: [...before].reverse() });
    const event = await revertingClient(other.client).lastEvent(before[0]);
    expect((await revertingClient(other.client).revert(event)).status).toBe(200);
    expect(await order()).toEqual(before);
  });
});
