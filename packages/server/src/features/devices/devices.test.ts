import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { setLastConnection } from "../../testing/last-connection.queries.ts";
import { publicKey as newPublicKey } from "../../testing/operations/test-records.ts";
import { startTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

const unknownId = "01980000-0000-7000-8000-000000000000";
const start = new Date("2026-01-31T12:00:00.000Z");

let server: TestServer;
let client: TestClient;
let tenantId: string;
let now = start;

beforeAll(async () => {
  server = await startTestServer({ clock: { now: () => now, elapsedMs: () => performance.now() } });
});
beforeEach(async () => {
  now = start;
  const tenant = await server.newTenant();
  client = tenant.client;
  tenantId = tenant.id;
});
afterAll(() => server.close());

async function newUser(email = "ann@example.com") {
  return (await client.post("/tenants/users", { email })).body;
}

function enrol(userId: string, more: object = {}) {
  const device = { name: "Laptop", userId, hardwareId: "C02XK0AAJG5H", publicKey: newPublicKey() };
  return client.post("/tenants/devices", { ...device, ...more });
}

describe("enrolDevice", () => {
  test("makes a device of the user, with all that is given", async () => {
    const user = await newUser();
    const given = {
      name: "Laptop",
      hardwareId: "C02XK0AAJG5H",
      publicKey: newPublicKey(),
      appVersion: "1.4.0",
      os: "macOS",
      osVersion: "15.2",
      posture: { diskEncrypted: true, screenLockSeconds: 300, antivirus: "none" },
    };
    const made = await client.post("/tenants/devices", { ...given, userId: user.id.toUpperCase() });
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `/tenants/devices/${made.body.id}` },
      body: { ...given, active: true, status: "Offline" },
    });
    expect(made.body.user).toEqual({ id: user.id, lastConnection: null, email: "ann@example.com" });
    const read = await client.get(`/tenants/devices/${made.body.id}`);
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.body).toEqual(made.body);
  });

  test("omits missing fields", async () => {
    const { body } = await enrol((await newUser()).id);
    for (const field of ["lastConnection", "posture", "appVersion", "os", "osVersion"]) {
      expect(body).not.toHaveProperty(field);
    }
  });

  test("makes a pending user active, and records that change too", async () => {
    const user = await newUser();
    const device = (await enrol(user.id)).body;
    const read = await client.get(`/tenants/users/${user.id}`);
    expect(read).toMatchObject({ headers: { etag: '"2"' }, body: { status: "active", devices: [device] } });
    const { body } = await client.get("/tenants/events?filter[operation]=enrolDevice");
    expect(body.data).toMatchObject([
      { target: { type: "user", id: user.id }, before: { status: "pending" }, after: { status: "active" } },
      { target: { type: "device", id: device.id, name: "Laptop" }, after: device },
    ]);
    await enrol(user.id);
    expect((await client.get(`/tenants/users/${user.id}`)).headers.etag).toBe('"2"');
  });

  test("refuses an unknown user and another tenant's", async () => {
    const stranger = (await (await server.newTenant()).client.post("/tenants/users", { email: "eve@example.com" }))
      .body;
    for (const userId of [unknownId, stranger.id]) {
      expect(await enrol(userId)).toMatchObject({
        status: 422,
        body: { code: "unknown_reference", errors: [{ pointer: "/userId" }] },
      });
    }
  });

  test("refuses a deactivated user", async () => {
    const user = await newUser();
    await client.must.patch(`/tenants/users/${user.id}/deactivate`);
    expect(await enrol(user.id)).toMatchObject({ status: 409, body: { code: "user_deactivated" } });
  });

  test("refuses the public key of another device, and keeps the user pending", async () => {
    const publicKey = newPublicKey();
    await enrol((await newUser()).id, { publicKey });
    const other = await newUser("ben@example.com");
    expect(await enrol(other.id, { publicKey })).toMatchObject({
      status: 409,
      body: { code: "device_key_taken", errors: [{ pointer: "/publicKey" }] },
    });
    expect((await client.get(`/tenants/users/${other.id}`)).body.status).toBe("pending");
  });

  test("allows as many devices as the largest of the user's groups", async () => {
    const groups = await Promise.all(
      [1, 2].map((maxDevices) => client.post("/tenants/groups", { name: `Up to ${maxDevices}`, maxDevices })),
    );
    const user = (
      await client.must.post("/tenants/users", { email: "ann@example.com", groups: groups.map(({ body }) => body.id) })
    ).body;
    expect((await enrol(user.id)).status).toBe(201);
    expect((await enrol(user.id)).status).toBe(201);
    expect(await enrol(user.id)).toMatchObject({ status: 409, body: { code: "device_limit_reached" } });
  });

  test("allows as many devices as the user's own limit, whatever the groups say", async () => {
    const user = await newUser();
    await client.must.patch(`/tenants/users/${user.id}`, { maxDevices: 0 });
    expect(await enrol(user.id)).toMatchObject({ status: 409, body: { code: "device_limit_reached" } });
    await client.must.patch(`/tenants/users/${user.id}`, { maxDevices: 1 });
    expect((await enrol(user.id)).status).toBe(201);
  });

  test("enforces the limit under concurrent enrolments", async () => {
    const user = await newUser();
    const replies = await Promise.all(Array.from({ length: 20 }, () => enrol(user.id)));
    const statuses = replies.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(5).fill(201), ...Array(15).fill(409)]);
    const read = await client.get(`/tenants/users/${user.id}`);
    expect(read).toMatchObject({ headers: { etag: '"2"' }, body: { status: "active" } });
    expect(read.body.devices).toHaveLength(5);
  });
});

describe("a device's status", () => {
  test("follows its last connection, and never raises its version", async () => {
    const device = (await enrol((await newUser()).id)).body;
    await setLastConnection(server, tenantId, "devices", device.id, start);
    now = new Date(start.getTime() + 180_000);
    const online = await client.get(`/tenants/devices/${device.id}`);
    expect(online.body).toMatchObject({ status: "Online", lastConnection: start.toISOString() });
    now = new Date(start.getTime() + 180_001);
    const offline = await client.get(`/tenants/devices/${device.id}`);
    expect(offline.body.status).toBe("Offline");
    expect([online.headers.etag, offline.headers.etag]).toEqual(['"1"', '"1"']);
  });

  test("is Deactivated while the user is inactive; the device's own flag does not change", async () => {
    const user = await newUser();
    const device = (await enrol(user.id)).body;
    await client.must.patch(`/tenants/users/${user.id}/deactivate`);
    expect((await client.get(`/tenants/devices/${device.id}`)).body).toMatchObject({
      status: "Deactivated",
      active: true,
    });
    await client.must.post(`/tenants/users/${user.id}/reactivate`);
    expect((await client.get(`/tenants/devices/${device.id}`)).body.status).toBe("Offline");
  });
});

describe("listDevices", () => {
  test("sorts, filters and counts", async () => {
    const [ann, ben] = [await newUser(), await newUser("ben@example.com")];
    const names = async (query: string) => {
      const { body } = await client.get(`/tenants/devices?${query}`);
      expect(body.total).toBe(body.data.length);
      return body.data.map(({ name }: { name: string }) => name);
    };
    const ids = [];
    for (const [user, name, hardwareId] of [
      [ann, "beta", "HW1"],
      [ann, "Alpha", "HW2"],
      [ben, "gamma", "HW3"],
    ]) {
      ids.push((await enrol(user.id, { name, hardwareId })).body.id);
    }
    await setLastConnection(server, tenantId, "devices", ids[2], start);
    await setLastConnection(server, tenantId, "devices", ids[0], new Date(start.getTime() + 1));
    expect(await names("")).toEqual(["beta", "Alpha", "gamma"]);
    expect(await names("sort=name")).toEqual(["Alpha", "beta", "gamma"]);
    // Devices without a connection come last.
    expect(await names("sort=lastConnection")).toEqual(["gamma", "beta", "Alpha"]);
    expect(await names(`filter[user.id]=${ann.id}&sort=-name`)).toEqual(["beta", "Alpha"]);
    expect(await names("filter[hardwareId][in]=HW1,HW3")).toEqual(["beta", "gamma"]);
    expect(await names("filter[name][ilike]=%25A%25&filter[active]=true&sort=name")).toEqual([
      "Alpha",
      "beta",
      "gamma",
    ]);
    expect(await names("filter[active]=false")).toEqual([]);
  });
});

test("a device that does not exist is not found", async () => {
  expect(await client.get(`/tenants/devices/${unknownId}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
});
