import { randomUUID } from "node:crypto";
import pg from "pg";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { created } from "../../testing/access-network.ts";
import { make, makeId, publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { type RevertingClient, revertingClient } from "../../testing/reverting-client.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;
let lastEvent: RevertingClient["lastEvent"];
let revert: RevertingClient["revert"];
let preview: RevertingClient["preview"];
let reverted: RevertingClient["reverted"];

beforeAll(async () => {
  server = await sharedTestServer();
  ({ client } = await server.newTenant());
  ({ lastEvent, revert, preview, reverted } = revertingClient(client));
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

  test("of a record returns a name that new records cannot have", async () => {
    const id = await makeId("group", client);
    const name = `${unique("Group")}\u200bname`;
    const owner = new pg.Client(inject("database"));
    await owner.connect();
    await owner.query("UPDATE groups SET name = $2 WHERE id = $1", [id, name]);
    await owner.end();
    expect((await client.delete(`/tenants/groups/${id}`)).status).toBe(204);
    const { recreated } = await reverted(await lastEvent(id));
    expect((await client.get(`/tenants/groups/${recreated.id}`)).body.name).toBe(name);
    expect((await client.put(`/tenants/groups/${recreated.id}`, { name: `${name}s` })).status).toBe(422);
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
          { address: "*.dev.example.com", protocols: [], answersWithin: ["10.0.0.0/8"] },
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
