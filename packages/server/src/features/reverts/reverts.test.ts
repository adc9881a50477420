import { randomUUID } from "node:crypto";
import { isWrite } from "@gatehouse/contract/operation";
import { beforeAll, describe, expect, test } from "vitest";
import { createAccessNetwork, created } from "../../testing/access-network.ts";
import { createWorld, pathOf, type TestWorld } from "../../testing/operations/operation-case.ts";
import { namedCases } from "../../testing/operations/operation-cases.ts";
import { make, makeId, publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { rowCounts } from "../../testing/row-counts.queries.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
});

async function lastEvent(id: string, by = client): Promise<string> {
  return (await by.get(`/tenants/events?filter[target.id]=${id}&sort=-position&limit=1`)).body.data[0].id;
}

const revert = (event: string, headers = {}, by = client) =>
  by.post(`/tenants/events/${event}/revert`, undefined, headers);
const preview = (event: string, by = client) => by.post(`/tenants/events/${event}/revert?preview=true`);

async function reverted(event: string) {
  const reply = await revert(event);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

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

    const done = await revert(event, { "if-match": planned.headers.etag });
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
    expect((await revert(event, { "if-match": planned.headers.etag })).status).toBe(412);
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
    const event = await lastEvent(before[0], other.client);
    expect((await revert(event, {}, other.client)).status).toBe(200);
    expect(await order()).toEqual(before);
  });
});

describe("a deletion", () => {
  test("of a group returns its members, policies and access tests", async () => {
    const { id: roleId } = await make("role", client);
    const group = await created(client, "/tenants/groups", { name: unique("Staff"), roles: [roleId] });
    const user = await makeId("user", client);
    await client.post(`/tenants/users/${user}/groups`, { groupId: group.id });
    const policy = await created(client, "/tenants/policies", {
      name: unique("Policy"),
      type: "PRIVATE",
      action: true,
      groups: [group.id, await makeId("group", client)],
      allResources: true,
    });
    const accessTest = await created(client, "/tenants/access-tests", {
      name: unique("Test"),
      subject: { type: "group", id: group.id },
      resource: { type: "resource", id: await makeId("resource", client) },
      expected: "denied",
    });
    expect((await client.delete(`/tenants/groups/${group.id}`)).status).toBe(204);
    const event = await lastEvent(group.id);

    // The entries about the members refer to the deletion.
    const part = await revert(await lastEvent(user));
    expect(part).toMatchObject({ status: 409, body: { code: "not_revertible" } });
    expect((await preview(await lastEvent(user))).body.cannot).toMatchObject([{ code: "part_of_deletion", event }]);

    const { recreated, results } = await reverted(event);
    expect(recreated).toMatchObject({ type: "group", formerId: group.id });
    expect(results).toHaveLength(4);
    const { id: newId } = recreated;
    expect((await client.get(`/tenants/groups/${newId}`)).body).toMatchObject({
      name: group.name,
      roles: [{ id: roleId }],
      users: [{ id: user }],
    });
    const groups = (await client.get(`/tenants/policies/${policy.id}`)).body.groups;
    expect(groups.map(({ id }: { id: string }) => id)).toContain(newId);
    expect(groups).toHaveLength(2);
    expect((await client.get(`/tenants/access-tests/${accessTest.id}`)).body.subject).toMatchObject({ id: newId });
    // One generation, so that watchers see the whole revert at once.
    const { body } = await client.get(`/tenants/events?filter[target.id]=${newId}`);
    const { generation } = body.data[0];
    expect((await client.get(`/tenants/events?filter[generation]=${generation}`)).body.total).toBe(4);
  });

  test("of a user reports what cannot be restored", async () => {
    const email = uniqueEmail();
    const user = await created(client, "/tenants/users", { email });
    await client.put(`/tenants/users/${user.id}`, { firstName: "Ann" });
    await client.patch(`/tenants/users/${user.id}`, { attributes: { team: "a" } });
    const { id: roleId } = await make("role", client);
    await client.patch(`/tenants/users/${user.id}/roles`, { addedRoles: [roleId] });
    await created(client, "/tenants/devices", {
      name: "Laptop",
      userId: user.id,
      hardwareId: "SERIAL",
      publicKey: Buffer.from(randomUUID().slice(0, 32)).toString("base64"),
    });
    await client.delete(`/tenants/users/${user.id}`);
    const { recreated, cannot } = await reverted(await lastEvent(user.id));
    expect(cannot.map(({ code }: { code: string }) => code)).toEqual(["user_status", "devices"]);
    expect((await client.get(`/tenants/users/${recreated.id}`)).body).toMatchObject({
      email,
      status: "pending",
      firstName: "Ann",
      attributes: { team: "a" },
      roles: expect.arrayContaining([expect.objectContaining({ id: roleId })]),
    });
  });

  test("of a user restores no role directly that only a group gave", async () => {
    const { id: roleId } = await make("role", client);
    const staff = await created(client, "/tenants/groups", { name: unique("Staff"), roles: [roleId] });
    const former = await created(client, "/tenants/groups", { name: unique("Former"), roles: [roleId] });
    const user = await created(client, "/tenants/users", { email: uniqueEmail(), groups: [staff.id, former.id] });
    await client.delete(`/tenants/users/${user.id}`);
    await client.put(`/tenants/groups/${staff.id}`, { description: "Without roles" });
    await client.put(`/tenants/groups/${staff.id}`, { roles: [] });
    await client.delete(`/tenants/groups/${former.id}`);
    const { recreated } = await reverted(await lastEvent(user.id));
    expect((await client.get(`/tenants/users/${recreated.id}`)).body).toMatchObject({
      groups: [{ id: staff.id }],
      roles: [],
    });
  });

  /** A record without the values that differ between a record and its recreation. */
  function comparable(state: object): unknown {
    const volatile = new Set(["id", "createdAt", "updatedAt", "token", "resource"]);
    return JSON.parse(JSON.stringify(state, (key, value) => (volatile.has(key) ? undefined : value)));
  }

  interface Deletion {
    readonly folder: string;
    readonly body: (by: TestClient) => Promise<object>;
    /** Requests after the creation. */
    readonly prepare?: (by: TestClient, id: string) => Promise<unknown>;
  }

  test.each<Deletion>([
    {
      folder: "groups",
      body: async (by) => ({
        name: unique("Group"),
        description: "Text",
        maxDevices: 9,
        roles: [await makeId("role", by)],
        idpMapping: ["staff"],
      }),
    },
    {
      folder: "policies",
      body: async (by) => ({
        name: unique("Policy"),
        type: "INTERNET",
        action: true,
        mode: "RESTRICTED",
        groups: [await makeId("group", by)],
        users: [await makeId("user", by)],
        devices: [await makeId("device", by)],
        sourceIps: ["192.0.2.1"],
        rule: await makeId("admission-rule", by),
        description: "Text",
      }),
      prepare: (by, id) => by.must.patch(`/tenants/policies/${id}/deactivate`),
    },
    {
      folder: "devices",
      body: async (by) => ({
        name: unique("Laptop"),
        userId: await makeId("user", by),
        hardwareId: "SERIAL",
        publicKey: publicKey(),
        os: "Linux",
        osVersion: "6",
        appVersion: "1.2.3",
        posture: { diskEncrypted: true },
      }),
      prepare: (by, id) => by.must.patch(`/tenants/devices/${id}/deactivate`),
    },
    {
      folder: "resources",
      body: async (by) => ({
        name: unique("Resource"),
        type: "PRIVATE",
        description: "Text",
        addresses: [
          { address: "git.example.com", protocols: [await makeId("protocol", by), await makeId("protocol", by)] },
          { address: "192.0.2.0/24", protocols: [] },
        ],
      }),
      prepare: async (by, id) =>
        by.must.post(`/tenants/resources/${id}/loadBalancing`, {
          loadBalancingMode: "AUTOMATIC",
          gateways: [await makeId("gateway", by), await makeId("gateway", by)],
        }),
    },
    {
      folder: "gateways",
      body: async () => ({
        name: unique("Gateway"),
        wireguardPort: "51999",
        endpoint: "gw.example.com",
        description: "Text",
      }),
      prepare: async (by, id) => {
        await by.must.put(`/tenants/resources/${await makeId("resource", by)}/gateways/${id}`);
        await by.must.post(`/tenants/gateways/${id}/enable-relay`);
        await by.must.post(`/tenants/gateways/${id}/enter-maintenance`);
      },
    },
    {
      folder: "admission-rules",
      body: async () => ({ name: unique("Rule"), rule: "now.getHours('UTC') < 20", hasTimeConstraint: true }),
    },
    {
      folder: "access-tests",
      body: async (by) => ({
        name: unique("Test"),
        description: "Text",
        enforced: true,
        subject: { type: "device", id: await makeId("device", by) },
        device: { posture: { diskEncrypted: true } },
        resource: { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 22 } },
        context: { time: "2026-01-31T12:00:00Z" },
        expected: "denied",
      }),
    },
  ])("in $folder returns every setting", async ({ folder, body, prepare }) => {
    const { id } = await created(client, `/tenants/${folder}`, await body(client));
    await prepare?.(client, id);
    const before = await client.get(`/tenants/${folder}/${id}`);
    expect((await client.delete(`/tenants/${folder}/${id}`)).status).toBe(204);
    const { recreated } = await reverted(await lastEvent(id));
    expect(recreated.formerId).toBe(id);
    const after = await client.get(`/tenants/${folder}/${recreated.id}`);
    expect(comparable(after.body)).toEqual(comparable(before.body));
  });

  test("of an access test about an address returns the test", async () => {
    const {
      id,
      createdAt: _created,
      updatedAt: _updated,
      ...settings
    } = await created(client, "/tenants/access-tests", {
      name: unique("Test"),
      subject: { type: "everyone" },
      resource: { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 22 } },
      expected: "denied",
    });
    await client.delete(`/tenants/access-tests/${id}`);
    const { recreated } = await reverted(await lastEvent(id));
    expect((await client.get(`/tenants/access-tests/${recreated.id}`)).body).toMatchObject(settings);
  });

  test("cannot take back a name that is taken, and the preview says so", async () => {
    const { id, name } = await make("group", client);
    await client.delete(`/tenants/groups/${id}`);
    await created(client, "/tenants/groups", { name });
    const event = await lastEvent(id);
    expect((await preview(event)).body).toMatchObject({
      refused: { code: "name_taken" },
      changes: [{ as: "reverted" }],
    });
    expect(await revert(event)).toMatchObject({ status: 409, body: { code: "name_taken" } });
  });
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
    const event = await lastEvent(denying.id, other.client);
    expect((await preview(event, other.client)).body.access).toMatchObject({
      gained: { users: 1 },
      brokenTests: [{ name: "Bob stays out" }],
    });
    expect(await revert(event, {}, other.client)).toMatchObject({ status: 409, body: { code: "access_tests_broken" } });
    const forced = await revert(event, { "gatehouse-override-reason": "Incident 7" }, other.client);
    expect(forced.status, forced.text).toBe(200);
    const entry = await other.client.get(`/tenants/events?filter[id]=${forced.headers["gatehouse-event"]}`);
    expect(entry.body.data).toMatchObject([{ operation: "deactivatePolicy", reason: "Incident 7" }]);
  });

  test("requires the permissions of its changes", async () => {
    const { id } = await make("group", client);
    await client.put(`/tenants/groups/${id}`, { description: "New" });
    const event = await lastEvent(id);
    const reader = server.client(await tenant.keyWith("events:read"));
    for (const reply of [await preview(event, reader), await revert(event, {}, reader)]) {
      expect(reply).toMatchObject({ status: 403, body: { code: "permission_denied" } });
      expect(reply.body.detail).toContain("groups:write");
    }
    const writer = server.client(await tenant.keyWith("groups:write"));
    expect((await revert(event, {}, writer)).status).toBe(403);
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
      await ours.send(operation.method, pathOf(operation, request.parameters), request.body);
      const made = (await countEvents()) - before;
      expect(made).toBeGreaterThan(0);
      const { data } = (await ours.get(`/tenants/events?sort=-position&limit=${made}`)).body;
      expect(data).toHaveLength(made);
      for (const { id } of data) {
        const planned = await preview(id, ours);
        expect(planned.status, planned.text).toBe(200);
        const { changes, cannot, refused } = planned.body;
        const done = await revert(id, {}, ours);
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
