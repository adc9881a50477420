import { beforeAll, expect, test } from "vitest";
import { sharedTestServer, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

test("the audit record shows the actor, the target, and the state before and after", async () => {
  const { client } = await server.newTenant();
  const made = await client.post("/tenants/users", { email: "ann@example.com" });
  const changed = await client.put(`/tenants/users/${made.body.id}`, { firstName: "Ann" });
  await client.must.delete(`/tenants/users/${made.body.id}`);
  const { body } = await client.get(`/tenants/events?filter[target.id]=${made.body.id}&sort=-createdAt`);
  expect(body.total).toBe(3);
  const [deletion, change, creation] = body.data;
  expect(creation).toMatchObject({
    operation: "createUsers",
    actor: { type: "api-key", name: "First key" },
    target: { type: "user", id: made.body.id, name: "ann@example.com" },
    after: made.body,
    requestId: made.headers["x-request-id"],
    sourceAddress: "127.0.0.1",
  });
  expect(creation).not.toHaveProperty("before");
  expect(change).toMatchObject({ operation: "updateUserProfile", before: made.body, after: changed.body });
  expect(deletion).toMatchObject({ operation: "deleteUser", before: changed.body });
  expect(deletion).not.toHaveProperty("after");
  expect(deletion.generation).toBe(creation.generation + 2);
});

test("the total counts all entries, or all that match the filters", async () => {
  const { client } = await server.newTenant();
  const before = (await client.get("/tenants/events")).body.total;
  const emails = ["ann@example.com", "ben@example.com"];
  await client.must.post(
    "/tenants/users",
    emails.map((email) => ({ email })),
  );
  expect((await client.get("/tenants/events?limit=1")).body).toMatchObject({ total: before + 2, hasNext: true });
  expect((await client.get("/tenants/events?filter[operation]=createUsers&limit=1")).body.total).toBe(2);
});

test("entries are found by actor, request, kind of target and time", async () => {
  const { client } = await server.newTenant();
  const made = await client.post("/tenants/groups", { name: "Engineering" });
  const { body } = await client.get(`/tenants/events?filter[target.id]=${made.body.id}`);
  const [event] = body.data;
  const found = async (filter: string) => {
    const reply = await client.get(`/tenants/events?limit=100&${filter}`);
    return reply.body.data.map(({ id }: { id: string }) => id);
  };
  expect(await found(`filter[requestId]=${event.requestId}`)).toEqual([event.id]);
  expect(await found(`filter[actor.id]=${event.actor.id}`)).toEqual([event.id]);
  expect(await found("filter[target.type]=group&filter[operation]=createGroup")).toEqual([event.id]);
  expect(await found(`filter[id]=${event.id}`)).toEqual([event.id]);
  expect(await found(`filter[createdAt][gte]=${event.createdAt}`)).toContain(event.id);
  expect(await found(`filter[createdAt][gt]=${event.createdAt}`)).toEqual([]);
});

test("a new tenant's record begins with the tenant, its owner, default group, default policy and first key", async () => {
  const { client } = await server.newTenant();
  const first = async (path: string) => (await client.get(path)).body.data[0];
  const [owner, group, policy] = [
    await first("/tenants/users"),
    await first("/tenants/groups"),
    await first("/tenants/policies"),
  ];
  const { users: _members, ...groupWithoutMembers } = group;
  const { body } = await client.get("/tenants/events?limit=100");
  const entryOf = (type: string) => body.data.find((event: { target: { type: string } }) => event.target.type === type);
  expect(body.total).toBe(5);
  for (const event of body.data) {
    expect(event).toMatchObject({ operation: "createTenant", actor: { type: "operator" }, generation: 1 });
    expect(event).not.toHaveProperty("before");
  }
  expect(entryOf("user")).toMatchObject({ target: { id: owner.id, name: "owner@example.com" } });
  expect(entryOf("user").after).toEqual(owner);
  expect(entryOf("group")).toMatchObject({ target: { id: group.id, name: "Default" } });
  expect(entryOf("group").after).toEqual(groupWithoutMembers);
  expect(entryOf("policy")).toMatchObject({ target: { id: policy.id, name: "Default internet policy" } });
  expect(entryOf("policy").after).toEqual(policy);
  expect(entryOf("tenant")).toBeDefined();
  expect(entryOf("api-key")).toBeDefined();
});

test("another tenant's entries are out of sight", async () => {
  const [tenant, stranger] = [await server.newTenant(), await server.newTenant()];
  const { body: group } = await stranger.client.post("/tenants/groups", { name: "Theirs" });
  const { body } = await tenant.client.get(`/tenants/events?filter[target.id]=${group.id}`);
  expect(body).toMatchObject({ total: 0, data: [] });
});
