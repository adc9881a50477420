/** Rules about the session of a device, from the sign-in to the gateways (docs/decisions/0149). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { signInOnDevice } from "../../testing/signed-in-device.ts";
import { activeUser } from "../../testing/signed-in-person.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { compareLiveFacts } from "../access/access.api.ts";

const hourMs = 3_600_000;
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
let resourceId: string;
let policyId: string;
let deviceId: string;
let userId: string;

beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());
beforeEach(async () => {
  clock = new TestClock();
  server = await startTestServer({ clock, connection: own.connection, settings });
  tenant = await server.newTenant();
  resourceId = (await created("/tenants/resources", { name: unique("Git"), type: "PRIVATE", addresses: [] })).id;
  const rule = await created("/tenants/admission-rules", {
    name: unique("Recent sign-in"),
    rule: "session.age < duration('8h')",
    hasTimeConstraint: true,
  });
  const policy = { type: "PRIVATE", action: true, allUsers: true, resources: [resourceId], rule: rule.id };
  policyId = (await created("/tenants/policies", { name: unique("Recent"), ...policy })).id;
  // The role's change makes every model read the user again.
  userId = (await activeUser(server, tenant, uniqueEmail(), ["ADMIN"])).id;
  const device = { name: "Laptop", userId, hardwareId: unique("Serial"), publicKey: publicKey() };
  deviceId = (await created("/tenants/devices", device)).id;
});
afterEach(() => server.close());

// biome-ignore lint/suspicious/noExplicitAny: what a body holds is for the caller to say
async function created(path: string, body: object): Promise<any> {
  const reply = await tenant.client.post(path, body);
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

async function decision(context: object = {}) {
  const { body } = await tenant.client.must.post("/access/v1/evaluation", {
    subject: { type: "device", id: deviceId },
    action: { name: "connect" },
    resource: { type: "resource", id: resourceId },
    context,
  });
  return body;
}

const signIn = (authenticatedAt = clock.now()) =>
  signInOnDevice({ server, tenant, userId, deviceId, authTime: authenticatedAt });

test("access begins with a sign-in, ends with its age, and begins again", async () => {
  expect((await decision()).decision).toBe(false);
  const authenticatedAt = clock.now();
  await signIn();
  const ends = authenticatedAt.getTime() + 8 * hourMs;
  const { decision: isAllowed, context } = await decision();
  expect(isAllowed).toBe(true);
  // The engine may give a time that is one millisecond too early.
  expect([ends - 1, ends]).toContain(Date.parse(context.validUntil));
  clock.advance(8 * hourMs);
  expect((await decision()).decision).toBe(false);
  await signIn();
  expect((await decision()).decision).toBe(true);
});

test("a session that is ended is absent, also if no lifetime limits it", async () => {
  await signIn();
  expect((await decision()).decision).toBe(true);
  await tenant.client.must.delete(`/tenants/users/${userId}/sessions`);
  expect((await decision()).decision).toBe(false);
});

test("methods are readable, and the provider is absent after a sign-in with a passkey", async () => {
  await signIn();
  const rule = await created("/tenants/admission-rules", {
    name: unique("Passkey"),
    rule: "'hwk' in session.methods && !has(session.provider)",
    hasTimeConstraint: false,
  });
  await tenant.client.must.patch(`/tenants/policies/${policyId}`, { rule: rule.id });
  expect(await decision()).toMatchObject({ decision: true });
  expect((await decision()).context.validUntil).toBeUndefined();
});

test("an explanation names the condition and the age", async () => {
  await signIn();
  clock.advance(9 * hourMs);
  const { context } = await decision({ explain: true });
  expect(JSON.stringify(context)).toContain("session.age");
  expect(JSON.stringify(context)).toContain("32400s");
});

test("the sign-in has an effect, and the past knows it", async () => {
  const before = clock.now();
  clock.advance(60_000);
  await signIn();
  const { body: events } = await tenant.client.must.get("/tenants/events?filter[operation]=signInOnDevice");
  const { body: effect } = await tenant.client.must.get(`/tenants/events/${events.data[0].id}/effect`);
  expect(effect.gained).toMatchObject({ devices: 1, pairs: 1 });
  const path = (at: Date) => `/tenants/access?device=${deviceId}&at=${at.toISOString()}`;
  expect((await tenant.client.must.get(path(before))).body.data).toEqual([]);
  const signedIn = clock.now();
  clock.advance(60_000);
  await tenant.client.must.delete(`/tenants/users/${userId}/sessions`);
  expect((await tenant.client.must.get(path(clock.now()))).body.data).toEqual([]);
  expect((await tenant.client.must.get(path(signedIn))).body.data).toMatchObject([{ resource: { id: resourceId } }]);
  const differences = await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
    compareLiveFacts({ tenantId: tenant.id, query }),
  );
  expect(differences).toEqual([]);
});

test("a preview of a stricter rule names the device", async () => {
  await signIn();
  const rule = await created("/tenants/admission-rules", {
    name: unique("Provider"),
    rule: "has(session.provider)",
    hasTimeConstraint: false,
  });
  const change = { method: "PATCH", path: `/tenants/policies/${policyId}`, body: { rule: rule.id } };
  const { body } = await tenant.client.must.post("/tenants/policies/preview", { changes: [change] });
  expect(body.lost).toMatchObject({ devices: 1, pairs: 1 });
});

test("an access test checks the session", async () => {
  const test = {
    name: unique("Nobody without a sign-in"),
    subject: { type: "device", id: deviceId },
    device: "any",
    resource: { type: "resource", id: resourceId },
    expected: "denied",
    enforced: false,
  };
  await created("/tenants/access-tests", test);
  const brokenTests = async () =>
    (await tenant.client.must.post("/tenants/access-tests/check", {})).body.summary.broken;
  expect(await brokenTests()).toBe(0);
  await signIn();
  expect(await brokenTests()).toBe(1);
});

describe("an enforced access test never refuses a sign-out", () => {
  async function enforce(fields: object): Promise<string> {
    const subject = { type: "device", id: deviceId };
    return (await created("/tenants/access-tests", { name: unique("Test"), subject, device: "any", ...fields })).id;
  }

  async function expectBrokenBySignOut(testId: string) {
    const reply = await tenant.client.delete(`/tenants/users/${userId}/sessions`);
    expect(reply.status, reply.text).toBe(204);
    const { body: effect } = await tenant.client.must.get(`/tenants/events/${reply.headers["gatehouse-event"]}/effect`);
    expect(effect.brokenTests).toMatchObject([{ id: testId }]);
    expect(effect).not.toHaveProperty("overrideReason");
  }

  const hardwareKey = async (): Promise<string> => {
    const rule = { name: unique("Hardware key"), rule: "'hwk' in session.methods", hasTimeConstraint: false };
    return (await created("/tenants/admission-rules", rule)).id;
  };

  test("that removes the expected access", async () => {
    const wiki = (await created("/tenants/resources", { name: unique("Wiki"), type: "PRIVATE", addresses: [] })).id;
    const policy = { type: "PRIVATE", action: true, allUsers: true, resources: [wiki], rule: await hardwareKey() };
    await created("/tenants/policies", { name: unique("Hardware key"), ...policy });
    await signIn();
    const resource = { type: "resource", id: wiki };
    await expectBrokenBySignOut(await enforce({ resource, expected: "allowed", enforced: true }));
  });

  test("that lifts a restriction", async () => {
    const internet = { type: "INTERNET", action: true, allUsers: true };
    const restricting = { ...internet, mode: "RESTRICTED", rule: await hardwareKey() };
    await created("/tenants/policies", { name: unique("Restricting"), ...restricting });
    await created("/tenants/policies", { name: unique("Open"), ...internet, mode: "LOCAL" });
    await signIn();
    const resource = { type: "address", id: "198.51.100.7" };
    await expectBrokenBySignOut(await enforce({ resource, expected: "denied", enforced: true }));
  });
});

test("the gateway gets the window in which the age is met, and keeps it by its own clock", async () => {
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const made = await created("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
  const gateway = new SimulatedGateway({
    url,
    gatewayId: made.id,
    token: made.token,
    now: () => clock.now().getTime(),
  });
  gateway.useKey(new SimulatedKey());
  try {
    await gateway.connect();
    const loadBalancing = { loadBalancingMode: "MANUAL", gateways: [made.id] };
    await tenant.client.must.post(`/tenants/resources/${resourceId}/loadBalancing`, loadBalancing);
    await signIn();
    const ends = clock.now().getTime() + 8 * hourMs;
    const windows = () =>
      Array.from(gateway.content?.classes.entries() ?? [], ([, members]) =>
        [...members.entries()].map(([, when]) => when),
      );
    await until("the gateway has the window", () => JSON.stringify(windows()) === JSON.stringify([[[[null, ends]]]]));
    await tenant.client.must.delete(`/tenants/users/${userId}/sessions`);
    await until("the device is in no class", () => windows().flat().length === 0);
  } finally {
    gateway.cut();
  }
});
