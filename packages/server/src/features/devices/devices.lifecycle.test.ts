import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { make, makeId, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  ({ client } = await server.newTenant());
});

async function eventsAbout(id: string) {
  return (await client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
}

async function makePolicy(fields: object) {
  const made = await client.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    ...fields,
  });
  expect(made.status, made.text).toBe(201);
  return made.body;
}

describe("deactivating a device", () => {
  test("removes its access, keeps its record, and keeps the user's version", async () => {
    const device = await make("device", client);
    const user = await client.get(`/tenants/users/${device.user.id}`);
    const reply = await client.patch(`/tenants/devices/${device.id}/deactivate`);
    expect(reply).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(reply.body).toEqual({
      ...device,
      active: false,
      status: "Deactivated",
      updatedAt: reply.body.updatedAt,
    });
    const after = await client.get(`/tenants/users/${device.user.id}`);
    expect(after.headers.etag).toBe(user.headers.etag);
    expect(after.body.devices).toEqual([reply.body]);
    expect((await client.get("/tenants/devices?filter[active]=false")).body.data).toEqual([reply.body]);
  });

  test("twice changes and records nothing the second time, but checks If-Match", async () => {
    const { id } = await make("device", client);
    const first = await client.patch(`/tenants/devices/${id}/deactivate`);
    expect(await client.patch(`/tenants/devices/${id}/deactivate`)).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
      body: first.body,
    });
    const stale = { "if-match": '"1"' };
    expect(await client.patch(`/tenants/devices/${id}/deactivate`, undefined, stale)).toMatchObject({ status: 412 });
    expect(await eventsAbout(id)).toMatchObject([
      { operation: "enrolDevice" },
      { operation: "deactivateDevice", before: { active: true }, after: { active: false } },
    ]);
  });

  test("keeps it in policies, and counts it against the limit", async () => {
    const device = await make("device", client);
    const policy = await makePolicy({ devices: [device.id] });
    await client.must.patch(`/tenants/users/${device.user.id}`, { maxDevices: 1 });
    await client.must.patch(`/tenants/devices/${device.id}/deactivate`);
    const { body } = await client.get(`/tenants/policies/${policy.id}`);
    expect(body.devices).toMatchObject([{ id: device.id, active: false, status: "Deactivated" }]);
    const another = { name: "Second", userId: device.user.id, hardwareId: "HW2", publicKey: `${"B".repeat(42)}A=` };
    expect(await client.post("/tenants/devices", another)).toMatchObject({ status: 409 });
  });
});

describe("reactivating a device", () => {
  test("restores it, and is refused for a device that is not deactivated", async () => {
    const { id, status } = await make("device", client);
    await client.must.patch(`/tenants/devices/${id}/deactivate`);
    const reply = await client.post(`/tenants/devices/${id}/reactivate`);
    expect(reply).toMatchObject({ status: 201, headers: { etag: '"3"' }, body: { active: true, status } });
    expect(reply.headers).not.toHaveProperty("location");
    expect(await client.post(`/tenants/devices/${id}/reactivate`)).toMatchObject({
      status: 409,
      body: { code: "device_not_deactivated" },
    });
    expect((await eventsAbout(id)).map(({ operation }: { operation: string }) => operation)).toEqual([
      "enrolDevice",
      "deactivateDevice",
      "reactivateDevice",
    ]);
  });

  test("is refused for a device whose user was deleted, with its own code", async () => {
    const { id, user } = await make("device", client);
    await client.must.delete(`/tenants/users/${user.id}`);
    expect(await client.post(`/tenants/devices/${id}/reactivate`)).toMatchObject({
      status: 409,
      body: { code: "device_without_user" },
    });
    expect((await client.get(`/tenants/devices/${id}`)).body).toMatchObject({ active: false, status: "Deactivated" });
  });

  test("of a deactivated user's device takes effect once the user is active again", async () => {
    const { id, user } = await make("device", client);
    await client.must.patch(`/tenants/devices/${id}/deactivate`);
    await client.must.patch(`/tenants/users/${user.id}/deactivate`);
    expect(await client.post(`/tenants/devices/${id}/reactivate`)).toMatchObject({
      status: 201,
      body: { active: true, status: "Deactivated" },
    });
    await client.must.post(`/tenants/users/${user.id}/reactivate`);
    expect((await client.get(`/tenants/devices/${id}`)).body.status).toBe("Offline");
  });

  test("races with deleting its user: the device ends deactivated either way", async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id, user } = await make("device", client);
      await client.must.patch(`/tenants/devices/${id}/deactivate`);
      const [deleted, reactivated] = await Promise.all([
        client.delete(`/tenants/users/${user.id}`),
        client.post(`/tenants/devices/${id}/reactivate`),
      ]);
      expect(deleted.status).toBe(204);
      expect([201, 409]).toContain(reactivated.status);
      const { body } = await client.get(`/tenants/devices/${id}`);
      expect(body).toMatchObject({ active: false, status: "Deactivated" });
      expect(body).not.toHaveProperty("user");
    }
  });
});

describe("replacing a device's posture", () => {
  const posture = { diskEncrypted: true, screenLockSeconds: 300, antivirus: "none" };

  test("replaces the former posture completely", async () => {
    const { id } = await make("device", client);
    const put = (body: unknown) => client.put(`/tenants/devices/${id}/posture`, body);
    expect(await put(posture)).toMatchObject({ status: 200, headers: { etag: '"2"' }, body: { id, posture } });
    expect((await put({ firewall: "on" })).body.posture).toEqual({ firewall: "on" });
    expect((await put({})).body.posture).toEqual({});
    expect((await client.get(`/tenants/devices/${id}`)).body.posture).toEqual({});
    expect((await eventsAbout(id)).at(-1)).toMatchObject({
      operation: "replaceDevicePosture",
      before: { posture: { firewall: "on" } },
      after: { posture: {} },
    });
  });

  test("by the same changes records nothing, regardless of the order of its entries", async () => {
    const { id } = await make("device", client);
    await client.must.put(`/tenants/devices/${id}/posture`, posture);
    const reordered = Object.fromEntries(Object.entries(posture).reverse());
    const again = await client.put(`/tenants/devices/${id}/posture`, reordered);
    expect(again).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(await eventsAbout(id)).toHaveLength(2);
  });

  test("is open to names of every kind, and to deactivated devices", async () => {
    const { id } = await make("device", client);
    await client.must.patch(`/tenants/devices/${id}/deactivate`);
    const names = JSON.parse('{"toString": 1, "posture": true, "a/b~c": "x", "größe": 1.5}');
    const reply = await client.put(`/tenants/devices/${id}/posture`, names);
    expect(reply).toMatchObject({ status: 200, body: { active: false } });
    expect((await client.get(`/tenants/devices/${id}`)).body.posture).toEqual(names);
  });

  test.each([
    ["a nested object", { os: { version: 1 } }, "/os"],
    ["a list", { tags: ["a"] }, "/tags"],
    ["null", { diskEncrypted: null }, "/diskEncrypted"],
    ["a text that is too long", { note: "x".repeat(257) }, "/note"],
    ["a name that is too long", { ["x".repeat(65)]: true }, undefined],
    ["an empty name", { "": true }, undefined],
    ["a control character in a name", { "a\u0007": true }, undefined],
    ["65 entries", Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`fact${index}`, true])), ""],
    ["a list in place of an object", [true], ""],
  ])("refuses %s", async (_what, body, pointer) => {
    const { id } = await make("device", client);
    const reply = await client.put(`/tenants/devices/${id}/posture`, body);
    expect(reply).toMatchObject({ status: 400, body: { code: "invalid_body" } });
    if (pointer !== undefined) expect(reply.body.errors).toContainEqual(expect.objectContaining({ pointer }));
    expect((await client.get(`/tenants/devices/${id}`)).headers.etag).toBe('"1"');
  });

  test("accepts as many entries as allowed, of maximum length", async () => {
    const { id } = await make("device", client);
    const name = (index: number) => `${index}`.padEnd(64, "n");
    const body = Object.fromEntries(Array.from({ length: 64 }, (_, index) => [name(index), "v".repeat(256)]));
    expect(await client.put(`/tenants/devices/${id}/posture`, body)).toMatchObject({ status: 200 });
  });
});

describe("deleting a device", () => {
  test("leaves only its audit entries, and frees its place for another device", async () => {
    const device = await make("device", client);
    await client.must.patch(`/tenants/users/${device.user.id}`, { maxDevices: 1 });
    const user = await client.get(`/tenants/users/${device.user.id}`);
    expect(await client.delete(`/tenants/devices/${device.id}`)).toMatchObject({ status: 204, text: "" });
    expect(await client.get(`/tenants/devices/${device.id}`)).toMatchObject({ status: 404 });
    expect(await client.delete(`/tenants/devices/${device.id}`)).toMatchObject({ status: 404 });
    expect((await client.get("/tenants/devices")).body.total).toBe(0);
    const after = await client.get(`/tenants/users/${device.user.id}`);
    expect(after).toMatchObject({ headers: { etag: user.headers.etag }, body: { devices: [] } });
    expect((await eventsAbout(device.id)).at(-1)).toMatchObject({ operation: "deleteDevice", before: device });
    // The same machine can enrol again with the same key.
    const { name, hardwareId, publicKey } = device;
    const again = { name, hardwareId, publicKey, userId: device.user.id };
    expect(await client.post("/tenants/devices", again)).toMatchObject({ status: 201 });
  });

  test("removes it from every policy, active or not, and records each of them", async () => {
    const device = await make("device", client);
    const other = await make("device", client);
    const [alone, inactive, both] = [
      await makePolicy({ name: "Alone", devices: [device.id] }),
      await makePolicy({ name: "Inactive", devices: [device.id] }),
      await makePolicy({ name: "Both", devices: [other.id, device.id] }),
    ];
    await client.must.patch(`/tenants/policies/${inactive.id}/deactivate`);
    await client.must.delete(`/tenants/devices/${device.id}`);
    for (const [policy, left] of [
      [alone, []],
      [inactive, []],
      [both, [{ id: other.id }]],
    ] as const) {
      const { body, headers } = await client.get(`/tenants/policies/${policy.id}`);
      expect(body.devices).toMatchObject(left);
      // The policy lists no device now, so it matches no more than before.
      expect(body).toMatchObject({ allDevices: false, allUsers: false, allGroups: false, users: [], groups: [] });
      expect(headers.etag).toBe(policy.id === inactive.id ? '"2"' : '"1"');
    }
    const { body } = await client.get("/tenants/events?filter[operation]=deleteDevice");
    const left = { device: { id: device.id, name: device.name } };
    expect(body.data).toMatchObject([
      { target: { type: "policy", name: "Alone" }, before: { id: alone.id, ...left }, after: { id: alone.id } },
      { target: { type: "policy", name: "Both" }, before: { id: both.id, ...left }, after: { id: both.id } },
      {
        target: { type: "policy", name: "Inactive" },
        before: { id: inactive.id, ...left },
        after: { id: inactive.id },
      },
      { target: { type: "device", id: device.id } },
    ]);
    expect(body.data[0].after).not.toHaveProperty("device");
  });

  test("works for a device without a user", async () => {
    const { id, user } = await make("device", client);
    await client.must.delete(`/tenants/users/${user.id}`);
    expect(await client.delete(`/tenants/devices/${id}`, { "if-match": '"1"' })).toMatchObject({ status: 412 });
    expect(await client.delete(`/tenants/devices/${id}`, { "if-match": '"2"' })).toMatchObject({ status: 204 });
  });

  test("concurrent deletion and use in a policy: one happens first or is refused", async () => {
    for (let round = 0; round < 6; round += 1) {
      const id = await makeId("device", client);
      const changed = await makePolicy({});
      const fields = { name: unique("Policy"), type: "PRIVATE", action: true, devices: [id] };
      const [deleted, created, patched] = await Promise.all([
        client.delete(`/tenants/devices/${id}`),
        client.post("/tenants/policies", fields),
        client.patch(`/tenants/policies/${changed.id}`, { devices: [id] }),
      ]);
      expect(deleted.status).toBe(204);
      expect([201, 422]).toContain(created.status);
      expect([200, 422]).toContain(patched.status);
      const { body } = await client.get("/tenants/policies?filter[type]=PRIVATE&limit=100");
      for (const policy of body.data) expect(policy.devices).toEqual([]);
    }
  });

  test("races with everything else that is done to it", async () => {
    for (let round = 0; round < 4; round += 1) {
      const { id, user } = await make("device", client);
      const replies = await Promise.all([
        client.delete(`/tenants/devices/${id}`),
        client.delete(`/tenants/devices/${id}`),
        client.patch(`/tenants/devices/${id}/deactivate`),
        client.post(`/tenants/devices/${id}/reactivate`),
        client.put(`/tenants/devices/${id}/posture`, { round }),
        client.delete(`/tenants/users/${user.id}`),
      ]);
      const statuses = replies.map(({ status }) => status);
      expect(statuses.slice(0, 2).sort()).toEqual([204, 404]);
      for (const status of statuses) expect([200, 201, 204, 404, 409]).toContain(status);
      expect(await client.get(`/tenants/devices/${id}`)).toMatchObject({ status: 404 });
    }
  });
});
