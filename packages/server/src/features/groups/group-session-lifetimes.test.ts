/** Lifetimes of device sessions by group (docs/decisions/0150-session-lifetimes-of-groups.md). */
import { expect, test } from "vitest";
import { deviceSessionWorld, hourMs, signInNow, withGateway } from "../../testing/device-session-world.ts";
import { make, unique } from "../../testing/operations/test-records.ts";
import { until } from "../../testing/until.ts";

const given = deviceSessionWorld();
const hours = (count: number) => count * 3_600;
const groups = "/tenants/groups";
const newGroup = async (body: object = {}) =>
  (await given.tenant.client.must.post(groups, { name: unique("Group"), ...body })).body;
/** Makes these groups the only ones of the user. */
async function joins(...ids: readonly string[]): Promise<void> {
  const { body } = await given.tenant.client.must.get(`/tenants/users/${given.userId}`);
  const removedGroups = body.groups.map(({ id }: { id: string }) => id).filter((id: string) => !ids.includes(id));
  await given.tenant.client.must.patch(`/tenants/users/${given.userId}/groups`, { addedGroups: ids, removedGroups });
}
const endsAt = async () =>
  (await given.tenant.client.must.get(`/tenants/devices/${given.deviceId}`)).body.session?.endsAt;
const at = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString();
const signIn = () => signInNow(given);

/** The end in the tenant's model, which decisions and gateways apply. */
async function endInModel(): Promise<number | null | undefined> {
  const { model } = await given.server.runner.models.current(given.tenant.id);
  return model.devices.get(given.deviceId)?.facts.sessionEndsAt;
}

async function expectEnd(ms: number | undefined): Promise<void> {
  expect(await endsAt()).toBe(ms === undefined ? undefined : at(ms));
  expect(await endInModel()).toBe(ms === undefined ? null : Date.parse(at(ms)));
}

test("a group's lifetime is shown, changed, cleared and reverted", async () => {
  const group = await newGroup({ deviceSessionLifetime: hours(8) });
  expect(group.deviceSessionLifetime).toBe(hours(8));
  const path = `${groups}/${group.id}`;
  expect((await given.tenant.client.must.put(path, { description: "Others stay" })).body.deviceSessionLifetime).toBe(
    hours(8),
  );
  const cleared = await given.tenant.client.must.put(path, { deviceSessionLifetime: null });
  expect(cleared.body).not.toHaveProperty("deviceSessionLifetime");
  const { body: page } = await given.tenant.client.must.get(`${groups}?filter[id]=${group.id}`);
  expect(page.data[0]).not.toHaveProperty("deviceSessionLifetime");
  await given.tenant.client.must.post(`/tenants/events/${cleared.headers["gatehouse-event"]}/revert`, {});
  expect((await given.tenant.client.must.get(path)).body.deviceSessionLifetime).toBe(hours(8));
});

test.each([899, 31_536_001, 3_600.5, "3600"])("a lifetime of %s is invalid", async (deviceSessionLifetime) => {
  const { status, body } = await given.tenant.client.post(groups, { name: unique("Group"), deviceSessionLifetime });
  expect([status, body.code]).toEqual([400, "invalid_body"]);
});

test("the shortest lifetime of the tenant and of the user's groups applies", async () => {
  await signIn();
  const begun = given.clock.now().getTime();
  const [short, long] = [await newGroup({ deviceSessionLifetime: hours(4) }), await newGroup()];
  await expectEnd(undefined);
  await joins(short.id, long.id);
  await expectEnd(begun + 4 * hourMs);
  await given.tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: hours(2) });
  await expectEnd(begun + 2 * hourMs);
  await given.tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: hours(9) });
  await expectEnd(begun + 4 * hourMs);
  await given.tenant.client.must.put(`${groups}/${long.id}`, { deviceSessionLifetime: hours(1) });
  await expectEnd(begun + hourMs);
  await given.tenant.client.must.put(`${groups}/${long.id}`, { deviceSessionLifetime: null });
  await expectEnd(begun + 4 * hourMs);
  // Membership, and the group itself, count at once.
  await joins(long.id);
  await expectEnd(begun + 9 * hourMs);
  await joins(short.id, long.id);
  await given.tenant.client.must.delete(`${groups}/${short.id}`);
  await expectEnd(begun + 9 * hourMs);
});

test("the end follows the groups that a request or a configuration document gives", async () => {
  const group = await newGroup({ deviceSessionLifetime: hours(1) });
  const { body: document } = await given.tenant.client.must.get("/tenants/configuration");
  await signIn();
  const end = given.clock.now().getTime() + hourMs;
  await given.tenant.client.must.post(`/tenants/users/${given.userId}/groups`, { groupId: group.id });
  await expectEnd(end);
  const apply = (groupsOf: object) =>
    given.tenant.client.must.post("/tenants/configuration/apply", {
      version: 1,
      users: document.users.map((user: object) => ({ ...user, ...groupsOf })),
    });
  await apply({});
  await expectEnd(undefined);
  await apply({ groups: [group.name] });
  await expectEnd(end);
});

test("a device on which nobody signed in is trusted for one lifetime after the group got its lifetime", async () => {
  const group = await newGroup();
  await joins(group.id);
  given.clock.advance(48 * hourMs);
  await given.tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(8) });
  const since = given.clock.now().getTime();
  await expectEnd(since + 8 * hourMs);
  given.clock.advance(hourMs);
  await given.tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(2) });
  await expectEnd(since + 2 * hourMs);
  await given.tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: null });
  await expectEnd(undefined);
  given.clock.advance(hourMs);
  await given.tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(8) });
  await expectEnd(given.clock.now().getTime() + 8 * hourMs);
});

test("who joins a limited group is limited from the sign-in, or at once", async () => {
  const group = await newGroup({ deviceSessionLifetime: hours(8) });
  given.clock.advance(48 * hourMs);
  await joins(group.id);
  const resource = await make("resource", given.tenant.client);
  const { body } = await given.tenant.client.must.post("/access/v1/evaluation", {
    subject: { type: "device", id: given.deviceId },
    action: { name: "connect" },
    resource: { type: "resource", id: resource.id },
  });
  expect(body.context.reason).toBe("device_session_ended");
  await signIn();
  await expectEnd(given.clock.now().getTime() + 8 * hourMs);
});

test("the session of a device that only a group limits can be ended", async () => {
  await joins((await newGroup({ deviceSessionLifetime: hours(8) })).id);
  await expectEnd(given.clock.now().getTime() + 8 * hourMs);
  await given.tenant.client.must.delete(`/tenants/users/${given.userId}/sessions`);
  expect((await given.tenant.client.must.get(`/tenants/devices/${given.deviceId}`)).body.session).toMatchObject({
    ended: true,
  });
});

test("gateways follow a group's lifetime and membership", async () => {
  const group = await newGroup();
  await joins(group.id);
  await signIn();
  const begun = given.clock.now().getTime();
  await withGateway(given, async (gateway, gatewayId) => {
    const resource = await make("resource", given.tenant.client);
    const loadBalancing = { loadBalancingMode: "MANUAL", gateways: [gatewayId] };
    await given.tenant.client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, loadBalancing);
    const policy = { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true, resources: [resource.id] };
    await given.tenant.client.must.post("/tenants/policies", policy);
    const ends = () =>
      Array.from(gateway.content?.peers.entries() ?? [], ([, peer]) =>
        peer.kind === "device" ? peer.until : undefined,
      );
    await until("the device is a peer without an end", () => ends().length === 1 && ends()[0] === undefined);
    await given.tenant.client.must.put(`${groups}/${group.id}`, { deviceSessionLifetime: hours(8) });
    await until("the gateway has the end", () => ends()[0] === Date.parse(at(begun + 8 * hourMs)));
    await given.tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: hours(2) });
    await until("the gateway has the tenant's end", () => ends()[0] === Date.parse(at(begun + 2 * hourMs)));
    await given.tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: null });
    await joins((await newGroup()).id);
    await until("the gateway has no end", () => ends().length === 1 && ends()[0] === undefined);
  });
});

test("the configuration document has the lifetime of a group", async () => {
  const group = { name: unique("Contractors"), deviceSessionLifetime: hours(8) };
  await given.tenant.client.must.post(groups, group);
  const { body: document } = await given.tenant.client.must.get("/tenants/configuration");
  expect(document.groups).toContainEqual(group);
  const groupsOf = (deviceSessionLifetime?: number) =>
    document.groups.map((each: { name: string }) => {
      if (each.name !== group.name) return each;
      return { name: group.name, ...(deviceSessionLifetime === undefined ? {} : { deviceSessionLifetime }) };
    });
  const { body: plan } = await given.tenant.client.must.post("/tenants/configuration/plan", {
    version: 1,
    groups: groupsOf(hours(1)),
  });
  const fields = [{ field: "deviceSessionLifetime", before: hours(8), after: hours(1) }];
  expect(plan.changes).toEqual([{ action: "update", kind: "group", name: group.name, fields }]);
  await given.tenant.client.must.post("/tenants/configuration/apply", { version: 1, groups: groupsOf() });
  const { body: page } = await given.tenant.client.must.get(`${groups}?filter[name]=${group.name}`);
  expect(page.data[0]).not.toHaveProperty("deviceSessionLifetime");
});
