import { permissions } from "@gatehouse/contract/permissions";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { make, makeId } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});

const activeUser = async (): Promise<string> => (await make("device", tenant.client)).user.id;
const transfer = (id: string, headers: Record<string, string> = {}) =>
  tenant.client.post(`/tenants/users/${id}/transfer-ownership`, undefined, headers);

async function owners() {
  const { body } = await tenant.client.get("/tenants/users?filter[roles.type]=OWNER");
  const { body: all } = await tenant.client.get("/tenants/users?limit=100");
  // The mark and the role belong to the same user.
  expect(all.data.filter(({ isOwner }: { isOwner: boolean }) => isOwner)).toEqual(body.data);
  return body.data.map(({ id }: { id: string }) => id);
}

test("moves the mark and the role, raises both versions, and records both users", async () => {
  const [former] = await owners();
  const next = await activeUser();
  expect(await transfer(next, { "if-match": '"2"' })).toMatchObject({ status: 204, headers: { etag: '"3"' } });
  expect(await owners()).toEqual([next]);
  expect((await tenant.client.get(`/tenants/users/${former}`)).headers.etag).toBe('"2"');
  const { body: events } = await tenant.client.get("/tenants/events?filter[operation]=transferOwnership");
  expect(events.data).toMatchObject([
    { target: { id: former }, before: { isOwner: true }, after: { isOwner: false, roles: [{ type: "DEFAULT" }] } },
    {
      target: { id: next },
      before: { isOwner: false },
      after: { isOwner: true, roles: [{ type: "OWNER" }, { type: "DEFAULT" }] },
    },
  ]);
});

test("to the owner changes nothing", async () => {
  const next = await activeUser();
  await transfer(next);
  expect(await transfer(next)).toMatchObject({ status: 204, headers: { etag: '"3"' } });
  const { body: events } = await tenant.client.get("/tenants/events?filter[operation]=transferOwnership");
  expect(events.total).toBe(2);
});

test("requires an active user", async () => {
  const id = await makeId("user", tenant.client);
  expect(await transfer(id)).toMatchObject({ status: 409, body: { code: "user_not_active" } });
  const deactivated = await activeUser();
  await tenant.client.must.patch(`/tenants/users/${deactivated}/deactivate`);
  expect(await transfer(deactivated)).toMatchObject({ status: 409, body: { code: "user_not_active" } });
});

test("sets an owner for a tenant whose owner was deleted", async () => {
  const [former] = await owners();
  const next = await activeUser();
  await tenant.client.must.delete(`/tenants/users/${former}`);
  expect(await owners()).toEqual([]);
  expect((await transfer(next)).status).toBe(204);
  expect(await owners()).toEqual([next]);
});

test("requires a key with every permission, before the user is looked up", async () => {
  const client = server.client(await tenant.keyWith(...permissions.filter((other) => other !== "events:read")));
  for (const id of [await activeUser(), "01980000-0000-7000-8000-000000000000"]) {
    const refused = await client.post(`/tenants/users/${id}/transfer-ownership`);
    expect(refused).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
    expect(refused.body.detail).toContain("events:read");
  }
});

test("many concurrent transfers, changes and deletions of the same users keep exactly one owner", async () => {
  for (let round = 0; round < 3; round += 1) {
    const users = await Promise.all(Array.from({ length: 6 }, () => activeUser()));
    const [doomed] = await owners();
    const replies = await Promise.all([
      ...users.map((id) => transfer(id)),
      ...users.map((id) => tenant.client.put(`/tenants/users/${id}`, { firstName: `Round ${round}` })),
      ...[...users].reverse().map((id) => transfer(id)),
      tenant.client.delete(`/tenants/users/${doomed}`),
    ]);
    for (const { status, text } of replies) expect([200, 204], text).toContain(status);
    expect(await owners()).toHaveLength(1);
  }
});
