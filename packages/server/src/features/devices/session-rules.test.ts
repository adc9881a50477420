/** Rules about the session of a device, from the sign-in to the gateways (docs/decisions/0149). */
import { beforeEach, describe, expect, test } from "vitest";
import { deviceSessionWorld, hourMs, signInNow, withGateway } from "../../testing/device-session-world.ts";
import { unique } from "../../testing/operations/test-records.ts";
import type { ReplyBody } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { compareLiveFacts } from "../access/access.api.ts";

// The role's change makes every model read the user again.
const given = deviceSessionWorld(["ADMIN"]);
let resourceId: string;
let policyId: string;

beforeEach(async () => {
  resourceId = (await created("/tenants/resources", { name: unique("Git"), type: "PRIVATE", addresses: [] })).id;
  const rule = await created("/tenants/admission-rules", {
    name: unique("Recent sign-in"),
    rule: "session.age < duration('8h')",
    hasTimeConstraint: true,
  });
  const policy = { type: "PRIVATE", action: true, allUsers: true, resources: [resourceId], rule: rule.id };
  policyId = (await created("/tenants/policies", { name: unique("Recent"), ...policy })).id;
});

async function created(path: string, body: object): Promise<ReplyBody> {
  const reply = await given.tenant.client.post(path, body);
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

async function decision(context: object = {}) {
  const { body } = await given.tenant.client.must.post("/access/v1/evaluation", {
    subject: { type: "device", id: given.deviceId },
    action: { name: "connect" },
    resource: { type: "resource", id: resourceId },
    context,
  });
  return body;
}

const signIn = () => signInNow(given);

test("access begins with a sign-in, ends with its age, and begins again", async () => {
  expect((await decision()).decision).toBe(false);
  const authenticatedAt = given.clock.now();
  await signIn();
  const ends = authenticatedAt.getTime() + 8 * hourMs;
  const { decision: isAllowed, context } = await decision();
  expect(isAllowed).toBe(true);
  // The engine may give a time that is one millisecond too early.
  expect([ends - 1, ends]).toContain(Date.parse(context.validUntil));
  given.clock.advance(8 * hourMs);
  expect((await decision()).decision).toBe(false);
  await signIn();
  expect((await decision()).decision).toBe(true);
});

test("a session that is ended is absent, even if no lifetime limits it", async () => {
  await signIn();
  expect((await decision()).decision).toBe(true);
  await given.tenant.client.must.delete(`/tenants/users/${given.userId}/sessions`);
  expect((await decision()).decision).toBe(false);
});

test("methods are readable, and the provider is absent after a sign-in with a passkey", async () => {
  await signIn();
  const rule = await created("/tenants/admission-rules", {
    name: unique("Passkey"),
    rule: "'hwk' in session.methods && !has(session.provider)",
    hasTimeConstraint: false,
  });
  await given.tenant.client.must.patch(`/tenants/policies/${policyId}`, { rule: rule.id });
  expect(await decision()).toMatchObject({ decision: true });
  expect((await decision()).context.validUntil).toBeUndefined();
});

test("an explanation names the condition and the age", async () => {
  await signIn();
  given.clock.advance(9 * hourMs);
  const { context } = await decision({ explain: true });
  expect(JSON.stringify(context)).toContain("session.age");
  expect(JSON.stringify(context)).toContain("32400s");
});

test("the sign-in has an effect, and the past knows it", async () => {
  const before = given.clock.now();
  given.clock.advance(60_000);
  await signIn();
  const { body: events } = await given.tenant.client.must.get("/tenants/events?filter[operation]=signInOnDevice");
  const { body: effect } = await given.tenant.client.must.get(`/tenants/events/${events.data[0].id}/effect`);
  expect(effect.gained).toMatchObject({ devices: 1, pairs: 1 });
  const path = (at: Date) => `/tenants/access?device=${given.deviceId}&at=${at.toISOString()}`;
  expect((await given.tenant.client.must.get(path(before))).body.data).toEqual([]);
  const signedIn = given.clock.now();
  given.clock.advance(60_000);
  await given.tenant.client.must.delete(`/tenants/users/${given.userId}/sessions`);
  expect((await given.tenant.client.must.get(path(given.clock.now()))).body.data).toEqual([]);
  expect((await given.tenant.client.must.get(path(signedIn))).body.data).toMatchObject([
    { resource: { id: resourceId } },
  ]);
  const differences = await given.server.database.transaction(
    { kind: "tenant", tenantId: given.tenant.id },
    ({ query }) => compareLiveFacts({ tenantId: given.tenant.id, query }),
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
  const { body } = await given.tenant.client.must.post("/tenants/policies/preview", { changes: [change] });
  expect(body.lost).toMatchObject({ devices: 1, pairs: 1 });
});

test("an access test checks the session", async () => {
  const test = {
    name: unique("Nobody without a sign-in"),
    subject: { type: "device", id: given.deviceId },
    device: "any",
    resource: { type: "resource", id: resourceId },
    expected: "denied",
    enforced: false,
  };
  await created("/tenants/access-tests", test);
  const brokenTests = async () =>
    (await given.tenant.client.must.post("/tenants/access-tests/check", {})).body.summary.broken;
  expect(await brokenTests()).toBe(0);
  await signIn();
  expect(await brokenTests()).toBe(1);
});

describe("an enforced access test never refuses a sign-out", () => {
  async function enforce(fields: object): Promise<string> {
    const subject = { type: "device", id: given.deviceId };
    return (await created("/tenants/access-tests", { name: unique("Test"), subject, device: "any", ...fields })).id;
  }

  async function expectBrokenBySignOut(testId: string) {
    const reply = await given.tenant.client.delete(`/tenants/users/${given.userId}/sessions`);
    expect(reply.status, reply.text).toBe(204);
    const { body: effect } = await given.tenant.client.must.get(
      `/tenants/events/${reply.headers["gatehouse-event"]}/effect`,
    );
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
  await withGateway(given, async (gateway, gatewayId) => {
    const loadBalancing = { loadBalancingMode: "MANUAL", gateways: [gatewayId] };
    await given.tenant.client.must.post(`/tenants/resources/${resourceId}/loadBalancing`, loadBalancing);
    await signIn();
    const ends = given.clock.now().getTime() + 8 * hourMs;
    const windows = () =>
      Array.from(gateway.content?.classes.entries() ?? [], ([, members]) =>
        [...members.entries()].map(([, when]) => when),
      );
    await until("the gateway has the window", () => JSON.stringify(windows()) === JSON.stringify([[[[null, ends]]]]));
    await given.tenant.client.must.delete(`/tenants/users/${given.userId}/sessions`);
    await until("the device is in no class", () => windows().flat().length === 0);
  });
});
