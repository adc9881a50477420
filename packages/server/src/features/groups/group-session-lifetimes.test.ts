/** Lifetimes of device sessions by group (docs/decisions/0150-session-lifetimes-of-groups.md). */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { make, publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { signInOnDevice } from "../../testing/signed-in-device.ts";
import { activeUser } from "../../testing/signed-in-person.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const hourMs = 3_600_000;
const hours = (count: number) => count * 3_600;
/** The tests advance the clock, and run by hand what is due by time. */
const settings = {
  gatewayLinks: { watch: false, reconnectMs: 0, tickMs: hourMs, lifeMs: 24 * hourMs },
  deviceLinks: { tickMs: hourMs, lifeMs: 24 * hourMs },
  rateLimits: { perMinute: 0, authFailures: 1_000, shared: false },
};
/** A database of its own: the advanced clock would make gateways of other tests silent. */
let own: TestDatabase;
let server: TestServer;
let clock: TestClock;
let tenant: TestTenant;
let userId: string;
let deviceId: string;

beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());
beforeEach(async () => {
  clock = new TestClock();
  server = await startTestServer({ clock, connection: own.connection, settings });
  tenant = await server.newTenant();
  userId = (await activeUser(server, tenant, uniqueEmail())).id;
  const device = { name: "Laptop", userId, hardwareId: unique("Serial"), publicKey: publicKey() };
  deviceId = (await tenant.client.must.post("/tenants/devices", device)).body.id;
});
afterEach(() => server.close());

const groups = "/tenants/groups";
const newGroup = async (body: object = {}) =>
  (await tenant.client.must.post(groups, { name: unique("Group"), ...body })).body;
/** Makes these groups the only ones of the user. */
async function joins(...ids: readonly string[]): Promise<void> {
  const { body } = await tenant.client.must.get(`/tenants/users/${userId}`);
  const removedGroups = body.groups.map(({ id }: { id: string }) => id).filter((id: string) => !ids.includes(id));
  await tenant.client.must.patch(`/tenants/users/${userId}/groups`, { addedGroups: ids, removedGroups });
}
const endsAt = async () => (await tenant.client.must.get(`/tenants/devices/${deviceId}`)).body.session?.endsAt;
const at = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString();
const signIn = () => signInOnDevice({ server, tenant, userId, deviceId, authTime: clock.now() });

/** The end by which decisions and gateways go, which the tenant's model contains. */
async function endInModel(): Promise<number | null | undefined> {
  const { model } = await server.runner.models.current(tenant.id);
  return model.devices.get(deviceId)?.facts.sessionEndsAt;
}

async function expectEnd(ms: number | undefined): Promise<void> {
  expect(await endsAt()).toBe(ms === undefined ? undefined : at(ms));
  expect(await endInModel()).toBe(ms === undefined ? null : Date.parse(at(ms)));
}

test("a group's lifetime is shown, changed, cleared and reverted", async () => {
  const group = await newGroup({ deviceSessionLifetime: hours(8) });
  expect(group.deviceSessionLifetime).toBe(hours(8));
  const path = `${groups}/${group.id}`;
  expect((await tenant.client.must.put(path, { description: "Others stay" })).body.deviceSessionLifetime).toBe(
    hours(8),
  );
  const cleared = await tenant.client.must.put(path, { deviceSessionLifetime: null });
  expect(cleared.body).not.toHaveProperty("deviceSessionLifetime");
  const { body: page } = await tenant.client.must.get(`${groups}?filter[id]=${group.id}`);
  expect(page.data[0]).not.toHaveProperty("deviceSessionLifetime");
  await tenant.client.must.post(`/tenants/events/${cleared.headers["gatehouse-event"]}/revert`, {});
  expect((await tenant.client.must.get(path)).body.deviceSessionLifetime).toBe(hours(8));
});

test.each([899, 31_536_001, 3_600.5, "3600"])("a lifetime of %s is invalid", async (deviceSessionLifetime) => {
  const { status, body } = await tenant.client.post(groups, { name: unique("Group"), deviceSessionLifetime });
  expect([status, body.code]).toEqual([400, "invalid_body"]);
});

test("the shortest lifetime of the tenant and of the user's groups applies", async () => {
  await signIn();
  const begun = clock.now().getTime();
  const [short, long] = [await newGroup({ deviceSessionLifetime: hours(4) }), await newGroup()];
  await expectEnd(undefined);
  await joins(short.id, long.id);
  await expectEnd(begun + 4 * hourMs);
  await tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: hours(2) });
  await expectEnd(begun + 2 * hourMs);
  await tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: hours(9) });
  await expectEnd(begun + 4 * hourMs);
  await tenant.client.must.put(`${groups}/${long.id}`, { deviceSessionLifetime: hours(1) });
  await expectEnd(begun + hourMs);
  await tenant.client.must.put(`${groups}/${long.id}`, { deviceSessionLifetime: null });
  await expectEnd(begun + 4 * hourMs);
  // Membership, and the group itself, count at once.
  await joins(long.id);
  await expectEnd(begun + 9 * hourMs);
  await joins(short.id, long.id);
  await tenant.client.must.delete(`${groups}/${short.id}`);
  await expectEnd(begun + 9 * hourMs);
});

test("a device on which nobody signed in is trusted for one lifetime after the group got its lifetime", async () => {
  const group = await newGroup();
  await joins(group.id);
  clock.advance(48 * hourMs);
  await tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(8) });
  const since = clock.now().getTime();
  await expectEnd(since + 8 * hourMs);
  clock.advance(hourMs);
  await tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(2) });
  await expectEnd(since + 2 * hourMs);
  await tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: null });
  await expectEnd(undefined);
  clock.advance(hourMs);
  await tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(8) });
  await expectEnd(clock.now().getTime() + 8 * hourMs);
});

test("who joins a limited group is limited from the sign-in, or at once", async () => {
  const group = await newGroup({ deviceSessionLifetime: hours(8) });
  clock.advance(48 * hourMs);
  await joins(group.id);
  const resource = await make("resource", tenant.client);
  const { body } = await tenant.client.must.post("/access/v1/evaluation", {
    subject: { type: "device", id: deviceId },
    action: { name: "connect" },
    resource: { type: "resource", id: resource.id },
  });
  expect(body.context.reason).toBe("device_session_ended");
  await signIn();
  await expectEnd(clock.now().getTime() + 8 * hourMs);
});

test("the session of a device that only a group limits can be ended", async () => {
  await joins((await newGroup({ deviceSessionLifetime: hours(8) })).id);
  await expectEnd(clock.now().getTime() + 8 * hourMs);
  await tenant.client.must.delete(`/tenants/users/${userId}/sessions`);
  expect((await tenant.client.must.get(`/tenants/devices/${deviceId}`)).body.session).toMatchObject({ ended: true });
});

test("gateways follow a group's lifetime and membership", async () => {
  const group = await newGroup();
  await joins(group.id);
  await signIn();
  const begun = clock.now().getTime();
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const body = { name: unique("Gateway"), wireguardPort: "51820" };
  const made = (await tenant.client.must.post("/tenants/gateways", body)).body;
  const gateway = new SimulatedGateway({
    url,
    gatewayId: made.id,
    token: made.token,
    now: () => clock.now().getTime(),
  });
  gateway.useKey(new SimulatedKey());
  try {
    await gateway.connect();
    const resource = await make("resource", tenant.client);
    const loadBalancing = { loadBalancingMode: "MANUAL", gateways: [made.id] };
    await tenant.client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, loadBalancing);
    const policy = { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true, resources: [resource.id] };
    await tenant.client.must.post("/tenants/policies", policy);
    const ends = () =>
      Array.from(gateway.content?.peers.entries() ?? [], ([, peer]) =>
        peer.kind === "device" ? peer.until : undefined,
      );
    await until("the device is a peer without an end", () => ends().length === 1 && ends()[0] === undefined);
    await tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(8) });
    await until("the gateway has the end", () => ends()[0] === Date.parse(at(begun + 8 * hourMs)));
    await tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: hours(2) });
    await until("the gateway has the tenant's end", () => ends()[0] === Date.parse(at(begun + 2 * hourMs)));
    await tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: null });
    await joins((await newGroup()).id);
    await until("the gateway has no end", () => ends().length === 1 && ends()[0] === undefined);
  } finally {
    gateway.cut();
  }
});

test("the configuration document has the lifetime of a group", async () => {
  const group = { name: unique("Contractors"), deviceSessionLifetime: hours(8) };
  await tenant.client.must.post(groups, group);
  const { body: document } = await tenant.client.must.get("/tenants/configuration");
  expect(document.groups).toContainEqual(group);
  const groupsOf = (deviceSessionLifetime?: number) =>
    document.groups.map((each: { name: string }) => {
      if (each.name !== group.name) return each;
      return { name: group.name, ...(deviceSessionLifetime === undefined ? {} : { deviceSessionLifetime }) };
    });
  const { body: plan } = await tenant.client.must.post("/tenants/configuration/plan", {
    version: 1,
    groups: groupsOf(hours(1)),
  });
  const fields = [{ field: "deviceSessionLifetime", before: hours(8), after: hours(1) }];
  expect(plan.changes).toEqual([{ action: "update", kind: "group", name: group.name, fields }]);
  await tenant.client.must.post("/tenants/configuration/apply", { version: 1, groups: groupsOf() });
  const { body: page } = await tenant.client.must.get(`${groups}?filter[name]=${group.name}`);
  expect(page.data[0]).not.toHaveProperty("deviceSessionLifetime");
});
