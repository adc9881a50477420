import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { makeId, publicKey, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { TestClock } from "../../../testing/test-clock.ts";
import { startTestServer, type TestClient, type TestServer } from "../../../testing/test-server.ts";
import { invitationLifetimeMs } from "../users.rules.ts";

const clock = new TestClock();
let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await startTestServer({ clock });
});
beforeEach(async () => {
  client = (await server.newTenant()).client;
});
afterAll(() => server.close());

const enrol = (userId: string) =>
  client.post("/tenants/devices", { name: "Laptop", userId, hardwareId: "HW1", publicKey: publicKey() });
const read = async (id: string) => (await client.get(`/tenants/users/${id}`)).body;
const inSevenDays = () => new Date(clock.now().getTime() + invitationLifetimeMs).toISOString();

test("an invitation can be accepted for seven days, and says when it no longer can", async () => {
  const { body: user } = await client.post("/tenants/users", { email: uniqueEmail() });
  expect(user).toMatchObject({ invitationExpiresAt: inSevenDays(), invitationExpired: false });
  clock.advance(invitationLifetimeMs - 1);
  expect((await read(user.id)).invitationExpired).toBe(false);
  clock.advance(1);
  expect(await read(user.id)).toMatchObject({ status: "pending", invitationExpired: true });
  const { body: list } = await client.get("/tenants/users?filter[status]=pending");
  expect(list.data).toMatchObject([{ id: user.id, invitationExpired: true }]);
  expect(await enrol(user.id)).toMatchObject({
    status: 409,
    body: { code: "invitation_expired", errors: [{ pointer: "/userId" }] },
  });
  expect((await read(user.id)).status).toBe("pending");
});

test("a further invitation extends the expiry by seven days, is recorded, and lets the user enrol", async () => {
  const { body: user } = await client.post("/tenants/users", { email: uniqueEmail() });
  clock.advance(invitationLifetimeMs * 2);
  const invited = await client.post(`/tenants/users/${user.id}/invite`, undefined, { "if-match": '"1"' });
  expect(invited).toMatchObject({ status: 204, text: "", headers: { etag: '"2"' } });
  expect(await read(user.id)).toMatchObject({ invitationExpiresAt: inSevenDays(), invitationExpired: false });
  const { body: events } = await client.get("/tenants/events?filter[operation]=inviteUser");
  expect(events.data).toMatchObject([
    {
      before: { invitationExpired: true, invitationExpiresAt: user.invitationExpiresAt },
      after: { invitationExpired: false, invitationExpiresAt: inSevenDays() },
    },
  ]);
  expect((await enrol(user.id)).status).toBe(201);
  const active = await read(user.id);
  expect(active.status).toBe("active");
  expect(active).not.toHaveProperty("invitationExpired");
  expect(active).not.toHaveProperty("invitationExpiresAt");
});

test("active and deactivated users are not invited", async () => {
  const id = await makeId("user", client);
  await client.must.patch(`/tenants/users/${id}/deactivate`);
  const refusal = { status: 409, body: { code: "user_not_pending" } };
  expect(await client.post(`/tenants/users/${id}/invite`)).toMatchObject(refusal);
  await client.must.post(`/tenants/users/${id}/reactivate`);
  expect((await enrol(id)).status).toBe(201);
  expect(await client.post(`/tenants/users/${id}/invite`)).toMatchObject(refusal);
});

test("an invitation that expired while the user was deactivated has expired after", async () => {
  const id = await makeId("user", client);
  await client.must.patch(`/tenants/users/${id}/deactivate`);
  clock.advance(invitationLifetimeMs);
  expect(await read(id)).not.toHaveProperty("invitationExpired");
  await client.must.post(`/tenants/users/${id}/reactivate`);
  expect(await read(id)).toMatchObject({ status: "pending", invitationExpired: true });
});

test("an active user's first invitation does not limit later devices", async () => {
  const id = await makeId("user", client);
  expect((await enrol(id)).status).toBe(201);
  clock.advance(invitationLifetimeMs * 2);
  expect((await enrol(id)).status).toBe(201);
});

test("exactly as many concurrent enrolments succeed as the user may have devices", async () => {
  for (const maxDevices of [1, 3, null]) {
    const id = await makeId("user", client);
    await client.must.patch(`/tenants/users/${id}`, { maxDevices });
    const replies = await Promise.all(Array.from({ length: 20 }, () => enrol(id)));
    const done = replies.filter(({ status }) => status === 201);
    expect(done).toHaveLength(maxDevices ?? 5);
    for (const { status, body } of replies) if (status !== 201) expect(body.code).toBe("device_limit_reached");
    expect((await read(id)).devices).toHaveLength(maxDevices ?? 5);
  }
});
