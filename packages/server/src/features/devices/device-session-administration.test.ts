/** Listing and ending the sessions of devices, and asking to sign in again (docs/decisions/0155). */
import { maxEndedSessions } from "@gatehouse/contract/records/device-session";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeId, publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { storeSessionEnds } from "./device-sessions.queries.ts";
import { storeDeviceSession } from "./devices.api.ts";
import { insertManyDevices, letDeviceWait, limitSessionsSince } from "./testing/device-sessions.queries.ts";

const path = "/tenants/device-sessions";
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});

async function newUser(groups: readonly string[] = [], maxDevices = 10): Promise<string> {
  const { body } = await tenant.client.must.post("/tenants/users", { email: uniqueEmail(), groups });
  await tenant.client.must.patch(`/tenants/users/${body.id}`, { maxDevices });
  return body.id;
}

async function newDevice(userId: string): Promise<string> {
  const device = { name: unique("Laptop"), userId, hardwareId: unique("Serial"), publicKey: publicKey() };
  return (await tenant.client.must.post("/tenants/devices", device)).body.id;
}

async function signInOn(deviceId: string, at = new Date()): Promise<void> {
  const session = { authenticatedAt: at, methods: ["hwk", "user"], providerId: null, providerSession: null };
  await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    storeDeviceSession({ tenantId: tenant.id, query }, deviceId, session, at),
  );
}

/** A device of a server, on which nobody signs in. */
async function newServer(userId: string): Promise<string> {
  const { body: key } = await tenant.client.must.post("/tenants/enrolment-keys", { name: unique("Key"), userId });
  const response = await server.app.inject({
    method: "POST",
    url: "/oauth/token",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: new URLSearchParams({
      client_id: "gatehouse-device",
      grant_type: "urn:gatehouse:oauth:grant-type:enrolment-key",
      enrolment_key: key.key,
      machine: unique("Server"),
      hardware_id: unique("Serial"),
      public_key: publicKey(),
    }).toString(),
  });
  expect(response.statusCode, response.body).toBe(200);
  return response.json().device.id;
}

const sessions = async (query = "") => (await tenant.client.must.get(`${path}${query}`)).body;
const sessionOf = async (id: string) => (await sessions(`?filter[id]=${id}`)).data[0];
const limit = (deviceSessionLifetime: number | null) =>
  tenant.client.must.put("/tenants/settings", { deviceSessionLifetime });

async function isTrusted(id: string): Promise<boolean> {
  const { body } = await tenant.client.must.post("/access/v1/evaluation", {
    subject: { type: "device", id },
    action: { name: "connect" },
    resource: { type: "address", id: "10.99.0.1" },
  });
  return body.context.reason !== "device_session_ended";
}

describe("the list", () => {
  test("shows who signed in, when the session ends, who ended it and why", async () => {
    await limit(28_800);
    const userId = await newUser();
    const [active, unused, ended] = [await newDevice(userId), await newDevice(userId), await newDevice(userId)];
    await signInOn(active);
    await signInOn(ended);
    await tenant.client.must.delete(`${path}/${ended}`);
    const { body: user } = await tenant.client.must.get(`/tenants/users/${userId}`);
    expect(await sessionOf(active)).toMatchObject({
      id: active,
      device: { id: active, active: true },
      user: { id: userId, email: user.email },
      state: "active",
      methods: ["hwk", "user"],
    });
    expect(await sessionOf(active)).not.toHaveProperty("endReason");
    expect(await sessionOf(unused)).toMatchObject({ state: "not-signed-in", methods: [] });
    const { body: keys } = await tenant.client.must.get("/tenants/api-keys");
    expect(await sessionOf(ended)).toMatchObject({
      state: "ended",
      endReason: "sign-in-required",
      endedBy: { type: "api-key", id: expect.any(String), name: keys[0].name },
    });
    expect((await sessions("?filter[state]=ended")).data.map(({ id }: { id: string }) => id)).toEqual([ended]);
    expect((await sessions(`?filter[user.id]=${userId}&sort=-endsAt`)).total).toBe(3);
    expect((await tenant.client.must.get(`/tenants/devices/${ended}`)).body.session).toMatchObject({
      ended: true,
      endReason: "sign-in-required",
    });
  });

  test("has the sessions of a group's members, and none of servers or deleted users", async () => {
    const group = await makeId("group", tenant.client);
    const [member, other] = [await newUser([group]), await newUser()];
    const [device] = [await newDevice(member), await newDevice(other), await newServer(member)];
    expect((await sessions(`?filter[group.id]=${group}`)).data.map(({ id }: { id: string }) => id)).toEqual([device]);
    await tenant.client.must.delete(`/tenants/users/${other}`);
    expect((await sessions()).total).toBe(1);
  });

  test("counts the same sessions with and without a filter, whatever the users and devices are", async () => {
    const counts = async () => {
      const [all, matching] = [await sessions(), await sessions("?filter[device.name][ilike]=%25")];
      expect(all.data.length).toBe(all.total);
      expect(matching.total).toBe(all.total);
      return all.total;
    };
    expect(await counts()).toBe(0);
    const [person, leaver] = [await newUser(), await newUser()];
    await newServer(person);
    const [used, unused, pending] = [await newDevice(person), await newDevice(person), await newDevice(person)];
    const theirs = await newDevice(leaver);
    await newDevice(leaver);
    await signInOn(used);
    await signInOn(theirs);
    expect(await counts()).toBe(5);
    await letDeviceWait(server.database, tenant.id, pending);
    await tenant.client.must.patch(`/tenants/users/${leaver}/deactivate`);
    for (const device of [used, unused]) await tenant.client.must.patch(`/tenants/devices/${device}/deactivate`);
    // Without a lifetime, an inactive device or user has no session unless somebody signed in.
    expect(await counts()).toBe(3);
    await limit(28_800);
    expect(await counts()).toBe(5);
    await tenant.client.must.delete(`/tenants/users/${leaver}`);
    expect(await counts()).toBe(3);
    await tenant.client.must.delete(`/tenants/devices/${unused}`);
    expect(await counts()).toBe(2);
  });

  test("has a device that waits for approval as pending, although its user has signed in on it", async () => {
    const device = await newDevice(await newUser());
    await signInOn(device);
    await letDeviceWait(server.database, tenant.id, device);
    expect(await sessionOf(device)).toMatchObject({ state: "pending", device: { active: false } });
    expect((await sessions("?filter[state]=pending")).total).toBe(1);
  });

  test("has a device that waits for approval before anybody has signed in on it", async () => {
    const device = await newDevice(await newUser());
    await letDeviceWait(server.database, tenant.id, device);
    expect(await sessionOf(device)).toMatchObject({ state: "pending", methods: [] });
  });

  test("has an expired session once its lifetime is over", async () => {
    await limit(900);
    const device = await newDevice(await newUser());
    await limitSessionsSince(server.database, tenant.id, new Date(Date.now() - 86_400_000));
    await signInOn(device, new Date(Date.now() - 901_000));
    expect(await sessionOf(device)).toMatchObject({ state: "expired" });
  });

  test.each([
    [
      "a sign-out everywhere",
      "signed-out",
      (userId: string) => tenant.client.must.delete(`/tenants/users/${userId}/sessions`),
    ],
    [
      "a reset of passkeys",
      "passkeys-reset",
      (userId: string) => tenant.client.must.delete(`/tenants/users/${userId}/passkeys`),
    ],
    [
      "a deactivation",
      "user-deactivated",
      (userId: string) => tenant.client.must.patch(`/tenants/users/${userId}/deactivate`),
    ],
  ])("names %s as the reason", async (_what, endReason, end) => {
    await limit(28_800);
    const userId = await newUser();
    const device = await newDevice(userId);
    await end(userId);
    expect(await sessionOf(device)).toMatchObject({ state: "ended", endReason, endedBy: { type: "api-key" } });
  });

  test("shows that a deactivation ended the session, even if no lifetime is set, until the reactivation", async () => {
    await limit(null);
    const userId = await newUser();
    const device = await newDevice(userId);
    await signInOn(device);
    await tenant.client.must.patch(`/tenants/users/${userId}/deactivate`);
    const ended = await sessionOf(device);
    expect(ended).toMatchObject({ state: "ended", endReason: "user-deactivated", endsAt: expect.any(String) });
    expect(Date.parse(ended.endsAt)).toBeLessThanOrEqual(Date.now());
    expect((await sessions(`?filter[user.id]=${userId}&filter[state]=ended`)).total).toBe(1);
    await tenant.client.must.post(`/tenants/users/${userId}/reactivate`);
    const active = await sessionOf(device);
    expect(active.state).toBe("active");
    expect(active).not.toHaveProperty("endsAt");
  });

  test("shows the latest deactivation if the earlier end had no effect without a lifetime", async () => {
    await limit(null);
    const userId = await newUser();
    const device = await newDevice(userId);
    await signInOn(device);
    const endOf = async () => {
      const { state, endReason, endedBy } = await sessionOf(device);
      return { state, endReason, endedBy: endedBy?.name };
    };
    const { body: keys } = await tenant.client.must.get("/tenants/api-keys");
    await tenant.client.must.delete(`/tenants/users/${userId}/sessions`);
    await tenant.client.must.patch(`/tenants/users/${userId}/deactivate`);
    expect(await endOf()).toEqual({ state: "ended", endReason: "user-deactivated", endedBy: keys[0].name });
    // The deactivation of the user had already ended the session.
    await tenant.client.must.patch(`/tenants/devices/${device}/deactivate`);
    expect(await endOf()).toMatchObject({ endReason: "user-deactivated" });
    await tenant.client.must.post(`/tenants/users/${userId}/reactivate`);
    await tenant.client.must.post(`/tenants/devices/${device}/reactivate`);
    await tenant.client.must.patch(`/tenants/devices/${device}/deactivate`);
    expect(await endOf()).toMatchObject({ state: "ended", endReason: "device-deactivated" });
  });

  test("shows the first end if it had an effect through a lifetime or a required sign-in", async () => {
    await limit(28_800);
    const userId = await newUser();
    const [device, asked] = [await newDevice(userId), await newDevice(userId)];
    await signInOn(device);
    await tenant.client.must.delete(`/tenants/users/${userId}/sessions`);
    await tenant.client.must.patch(`/tenants/devices/${device}/deactivate`);
    expect(await sessionOf(device)).toMatchObject({ state: "ended", endReason: "signed-out" });
    await limit(null);
    await signInOn(asked);
    await tenant.client.must.delete(`${path}/${asked}`);
    await tenant.client.must.patch(`/tenants/devices/${asked}/deactivate`);
    expect(await sessionOf(asked)).toMatchObject({ state: "ended", endReason: "sign-in-required" });
  });

  test("is read with devices:read, and sessions are ended with devices:write", async () => {
    const reader = server.client(await tenant.keyWith("devices:read"));
    const device = await newDevice(await newUser());
    expect((await reader.get(path)).status).toBe(200);
    expect((await reader.delete(`${path}/${device}`)).status).toBe(403);
    expect((await reader.post(`${path}/require-sign-in`, { devices: [device] })).status).toBe(403);
  });
});

describe("asking to sign in again", () => {
  test("stays in force if the person signs out everywhere at the same time", async () => {
    const device = await newDevice(await newUser());
    await signInOn(device);
    await tenant.client.must.post(`${path}/require-sign-in`, { devices: [device] });
    // The sign-out saw the session before the request ended it.
    const end = { at: new Date(), reason: "signed-out", by: { type: "system", name: "Test" } } as const;
    await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
      storeSessionEnds({ tenantId: tenant.id, query }, [device], end),
    );
    expect(await isTrusted(device)).toBe(false);
    expect(await sessionOf(device)).toMatchObject({ state: "ended", endReason: "sign-in-required" });
  });

  const ask = (body: object) => tenant.client.post(`${path}/require-sign-in`, body);

  test("ends the trust in a device, even without a lifetime, until its user signs in again", async () => {
    const [asked, other] = [await newDevice(await newUser()), await newDevice(await newUser())];
    expect((await ask({ devices: [asked] })).status).toBe(200);
    expect([await isTrusted(asked), await isTrusted(other)]).toEqual([false, true]);
    await limit(28_800);
    await limit(null);
    expect(await isTrusted(asked)).toBe(false);
    await signInOn(asked);
    // A change of the settings makes models read sessions that a test stores by itself.
    await limit(28_800);
    await limit(null);
    expect(await isTrusted(asked)).toBe(true);
    expect(await sessionOf(asked)).toMatchObject({ state: "active" });
  });

  test("ends the sessions of a user's devices or of a group's members in one command, with an entry for each", async () => {
    const group = await makeId("group", tenant.client);
    const users = [await newUser([group]), await newUser([group]), await newUser()];
    const devices = await Promise.all(users.flatMap((id) => [newDevice(id), newDevice(id)]));
    const reply = await ask({ groups: [group] });
    expect(reply.status).toBe(200);
    expect(await Promise.all(devices.map(isTrusted))).toEqual([false, false, false, false, true, true]);
    const { body } = await tenant.client.must.get("/tenants/events?filter[operation]=requireSignIn");
    expect(body.data.map(({ target }: { target: { id: string } }) => target.id).sort()).toEqual(
      devices.slice(0, 4).sort(),
    );
    expect(new Set(body.data.map(({ generation }: { generation: number }) => generation)).size).toBe(1);
    await ask({ users: [users[2] ?? ""] });
    expect(await isTrusted(devices[5] ?? "")).toBe(false);
  });

  test("is one command for as many devices as it accepts, and none for more", async () => {
    const userId = await newUser();
    const last = await newDevice(userId);
    await insertManyDevices(server.database, tenant.id, userId, maxEndedSessions);
    const trusted = async () =>
      (await sessions(`?filter[user.id]=${userId}&filter[state]=not-signed-in&limit=1`)).total;
    const refused = await ask({ users: [userId] });
    expect([refused.status, refused.body.code]).toEqual([422, "too_many_devices"]);
    expect(await trusted()).toBe(maxEndedSessions + 1);
    await ask({ devices: [last] });
    const reply = await ask({ users: [userId] });
    expect(reply.status, reply.text).toBe(200);
    expect(await trusted()).toBe(0);
    const { body } = await tenant.client.must.get("/tenants/events?filter[operation]=requireSignIn&limit=1");
    expect(body.total).toBe(maxEndedSessions + 1);
  });

  test("twice changes nothing the second time", async () => {
    const device = await newDevice(await newUser());
    await ask({ devices: [device] });
    const first = await sessionOf(device);
    await ask({ devices: [device] });
    expect(await sessionOf(device)).toEqual(first);
    expect((await tenant.client.must.get("/tenants/events?filter[operation]=requireSignIn")).body.total).toBe(1);
  });

  test("leaves servers alone, and says so if one is named", async () => {
    const userId = await newUser();
    const [device, machine] = [await newDevice(userId), await newServer(userId)];
    expect((await ask({ users: [userId] })).status).toBe(200);
    expect([await isTrusted(device), await isTrusted(machine)]).toEqual([false, true]);
    expect((await ask({ devices: [machine] })).body.code).toBe("device_without_sessions");
    expect((await tenant.client.delete(`${path}/${machine}`)).body.code).toBe("device_without_sessions");
  });

  test("names all records that do not exist, and then changes nothing", async () => {
    const [device, missing] = [await newDevice(await newUser()), "00000000-0000-4000-8000-000000000000"];
    const reply = await ask({ devices: [device, missing], users: [missing], groups: [missing] });
    expect([reply.status, reply.body.code]).toEqual([422, "unknown_reference"]);
    const pointers = reply.body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(pointers).toEqual(["/devices/1", "/users/0", "/groups/0"]);
    expect(await isTrusted(device)).toBe(true);
  });

  test("of nobody changes nothing", async () => {
    const device = await newDevice(await newUser());
    expect((await ask({})).status).toBe(200);
    expect(await isTrusted(device)).toBe(true);
  });

  test("does not reach into another tenant", async () => {
    const device = await newDevice(await newUser());
    const theirs = await server.newTenant();
    expect((await theirs.client.post(`${path}/require-sign-in`, { devices: [device] })).body.code).toBe(
      "unknown_reference",
    );
    expect((await theirs.client.delete(`${path}/${device}`)).status).toBe(404);
    expect((await theirs.client.must.get(path)).body.total).toBe(0);
    expect(await isTrusted(device)).toBe(true);
  });

  test("compares the version of the device", async () => {
    const device = await newDevice(await newUser());
    const stale = await tenant.client.delete(`${path}/${device}`, { "if-match": '"99"' });
    expect([stale.status, await isTrusted(device)]).toEqual([412, true]);
  });
});
