import { maxViews } from "@gatehouse/contract/records/view";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { activeUser, signInAs } from "../../testing/signed-in-person.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let ann: TestClient;

async function person(email: string): Promise<TestClient> {
  const { id } = await activeUser(server, tenant, email);
  return server.client(undefined, await signInAs(server, tenant.id, id));
}

const stale = {
  list: "devices",
  name: "Stale",
  search: "lap",
  filters: { notSeen: "true", "user.id": "" },
  sort: "-createdAt",
  hiddenColumns: ["os"],
  density: "compact",
  pageSize: 50,
};

beforeAll(async () => {
  server = await sharedTestServer();
});

beforeEach(async () => {
  tenant = await server.newTenant();
  ann = await person("ann@example.com");
});

test("a view is stored as it was given, listed by list and name, changed and deleted", async () => {
  const { body: view } = await ann.must.post("/tenants/views", stale);
  expect(view).toMatchObject(stale);
  const { body: other } = await ann.must.post("/tenants/views", { list: "devices", name: "All" });
  expect(other).toMatchObject({ search: "", filters: {}, sort: "", density: "comfortable", pageSize: 25 });
  const { body: views } = await ann.must.get("/tenants/views");
  expect(views.map(({ name }: { name: string }) => name)).toEqual(["All", "Stale"]);
  const { body: changed } = await ann.must.patch(`/tenants/views/${view.id}`, { filters: {} });
  expect(changed).toMatchObject({ ...stale, filters: {} });
  await ann.must.delete(`/tenants/views/${view.id}`);
  expect((await ann.get(`/tenants/views/${view.id}`)).status).toBe(404);
});

test("names are unique for each person and list", async () => {
  const bob = await person("bob@example.com");
  const { body: view } = await ann.must.post("/tenants/views", stale);
  expect((await ann.post("/tenants/views", stale)).body.code).toBe("name_taken");
  await ann.must.post("/tenants/views", { ...stale, list: "users" });
  await bob.must.post("/tenants/views", stale);
  await ann.must.post("/tenants/views", { ...stale, name: "Other" });
  expect((await ann.patch(`/tenants/views/${view.id}`, { name: "Other" })).body.code).toBe("name_taken");
});

test("views of others are like missing ones, even for an owner's key", async () => {
  const bob = await person("bob@example.com");
  const { body: view } = await ann.must.post("/tenants/views", stale);
  const path = `/tenants/views/${view.id}`;
  expect((await bob.get(path)).status).toBe(404);
  expect((await bob.patch(path, { name: "Mine" })).status).toBe(404);
  expect((await bob.delete(path)).status).toBe(404);
  expect((await bob.must.get("/tenants/views")).body).toEqual([]);
  expect((await tenant.client.get(path)).body.code).toBe("person_required");
  expect((await ann.must.get(path)).body).toMatchObject(stale);
});

test.each([
  ["a list that is not a name", { list: "../users" }],
  ["too many filters", { filters: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`f${index}`, "x"])) }],
  ["a filter that is not a text", { filters: { a: 1 } }],
  ["a filter with a zero character", { filters: { a: "\u0000" } }],
  ["a page of too many rows", { pageSize: 101 }],
  ["another density", { density: "dense" }],
])("rejects %s", async (_what, wrong) => {
  expect((await ann.post("/tenants/views", { ...stale, ...wrong })).status).toBe(400);
});

test("a person can have a limited number of views, even with concurrent requests", async () => {
  const create = (index: number) => ann.post("/tenants/views", { list: "users", name: `View ${index}` });
  for (let index = 0; index < maxViews - 1; index++) expect((await create(index)).status).toBe(201);
  const replies = await Promise.all([create(1_000), create(1_001), create(1_002)]);
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  expect(replies.find(({ status }) => status === 409)?.body.code).toBe("view_limit_reached");
});

test("the views of a deleted user are deleted", async () => {
  const { id } = await activeUser(server, tenant, "carl@example.com");
  const carl = server.client(undefined, await signInAs(server, tenant.id, id));
  await carl.must.post("/tenants/views", stale);
  await tenant.client.must.delete(`/tenants/users/${id}`);
  expect((await carl.get("/tenants/views")).status).toBe(401);
});
