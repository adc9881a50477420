import { hash } from "node:crypto";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const unknownId = "01980000-0000-7000-8000-000000000000";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

async function roleId(of: TestTenant, type: string): Promise<string> {
  const { body } = await of.client.get("/tenants/roles");
  return body.find((role: { type: string }) => role.type === type).id;
}

describe("createGroup", () => {
  test("defaults to five devices per member, no roles and no members", async () => {
    const made = await tenant.client.post("/tenants/groups", { name: " Engineering " });
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `/tenants/groups/${made.body.id}` },
      body: {
        name: "Engineering",
        maxDevices: 5,
        isSamlDefaultGroup: false,
        idpMapping: [],
        roles: [],
        deleteable: true,
        users: [],
      },
    });
    expect(made.body).not.toHaveProperty("description");
    const read = await tenant.client.get(`/tenants/groups/${made.body.id}`);
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.body).toEqual(made.body);
  });

  test("stores everything that is given", async () => {
    const support = await roleId(tenant, "SUPPORT");
    const made = await tenant.client.post("/tenants/groups", {
      name: "Support desk",
      description: "First line",
      roles: [support.toUpperCase()],
      maxDevices: 0,
      idpMapping: ["support", "desk"],
    });
    expect(made).toMatchObject({
      status: 201,
      body: {
        description: "First line",
        roles: [{ id: support, type: "SUPPORT" }],
        maxDevices: 0,
        idpMapping: ["support", "desk"],
      },
    });
  });

  test("refuses a name that is taken", async () => {
    await tenant.client.must.post("/tenants/groups", { name: "Sales" });
    expect(await tenant.client.post("/tenants/groups", { name: "Sales " })).toMatchObject({
      status: 409,
      body: { code: "name_taken", errors: [{ pointer: "/name" }] },
    });
  });

  test("refuses roles that do not exist or belong to another tenant", async () => {
    const stranger = await server.newTenant();
    const roles = [await roleId(tenant, "ADMIN"), unknownId, await roleId(stranger, "ADMIN")];
    expect(await tenant.client.post("/tenants/groups", { name: "Lost", roles })).toMatchObject({
      status: 422,
      body: { code: "unknown_reference", errors: [{ pointer: "/roles/1" }, { pointer: "/roles/2" }] },
    });
  });

  test("refuses the owner's role", async () => {
    const roles = [await roleId(tenant, "ADMIN"), await roleId(tenant, "OWNER")];
    expect(await tenant.client.post("/tenants/groups", { name: "Owners", roles })).toMatchObject({
      status: 422,
      body: { code: "role_not_assignable", errors: [{ pointer: "/roles/1" }] },
    });
  });
});

describe("the SAML default group", () => {
  test("is unique: a new one takes the mark from the previous one, which is recorded too", async () => {
    const { client } = await server.newTenant();
    const { body: before } = await client.get("/tenants/groups?filter[isSamlDefaultGroup]=true");
    expect(before).toMatchObject({ total: 1, data: [{ name: "Default", deleteable: false }] });
    const made = await client.post("/tenants/groups", { name: "Single sign-on", isSamlDefaultGroup: true });
    expect(made.body).toMatchObject({ isSamlDefaultGroup: true, deleteable: false });
    const [{ id }] = before.data;
    const released = await client.get(`/tenants/groups/${id}`);
    // The group is still the tenant's default group, so it cannot be deleted.
    expect(released).toMatchObject({
      headers: { etag: '"2"' },
      body: { isSamlDefaultGroup: false, deleteable: false },
    });
    const { body: events } = await client.get("/tenants/events?filter[operation]=createGroup");
    expect(events.data).toMatchObject([
      { target: { type: "group", id }, before: { isSamlDefaultGroup: true }, after: { isSamlDefaultGroup: false } },
      { target: { type: "group", id: made.body.id }, after: { isSamlDefaultGroup: true } },
    ]);
    expect(events.data[0].after).not.toHaveProperty("users");
  });

  test("stays unique under concurrent requests", async () => {
    const { client } = await server.newTenant();
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        client.post("/tenants/groups", { name: `Group ${index}`, isSamlDefaultGroup: true }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
    const { body } = await client.get("/tenants/groups?filter[isSamlDefaultGroup]=true");
    expect(body.total).toBe(1);
  });
});

describe("listGroups", () => {
  test("shows members, finds the groups of a user, and sorts by name without regard to case", async () => {
    const { client } = await server.newTenant();
    const beta = (await client.post("/tenants/groups", { name: "beta" })).body.id;
    await client.must.post("/tenants/groups", { name: "Alpha" });
    const user = (await client.post("/tenants/users", { email: "Ann@example.com", groups: [beta] })).body;
    const sorted = await client.get("/tenants/groups?sort=name");
    expect(sorted.body.total).toBe(3);
    expect(sorted.body.data.map(({ name }: { name: string }) => name)).toEqual(["Alpha", "beta", "Default"]);
    const found = await client.get(`/tenants/groups?filter[users.id]=${user.id}`);
    expect(found.body).toMatchObject({
      total: 1,
      data: [{ id: beta, users: [{ id: user.id, email: "Ann@example.com", createdAt: user.createdAt }] }],
    });
    expect(found.body.data[0].users[0]).not.toHaveProperty("firstName");
  });
});

describe("a group with many members", () => {
  const longest = (name: string) => name.padEnd(60, "é");
  const people = Array.from({ length: 1_000 }, (_, index) => ({
    email: `member${index}@example.com`,
    firstName: index % 2 === 0 ? longest(`"Ann\\${index}\u2028 🦊`) : "",
    lastName: longest(`</b>/ 東京 ${index}`),
  }));

  test("is embedded with the bytes of its serialized values, and sent in slices", async () => {
    const { client } = await server.newTenant();
    const { id } = (await client.must.post("/tenants/groups", { name: "All", description: "é" })).body;
    const made: { readonly id: string }[] = [];
    for (let start = 0; start < people.length; start += 100) {
      const some = people.slice(start, start + 100).map((person) => ({ ...person, groups: [id] }));
      made.push(...(await client.must.post("/tenants/users", some)).body);
    }
    const turns = vi.spyOn(server.runner.evaluator, "decide");
    const page = await client.must.get("/tenants/groups?filter[name]=All", { "accept-encoding": "identity" });
    expect(turns).toHaveBeenCalledTimes(2); // once to serialize it, and once to hash it
    turns.mockRestore();
    expect(page.text.length).toBeGreaterThan(262_144);
    expect(page.text).toBe(JSON.stringify(page.body));
    expect(page.headers).toMatchObject({
      etag: `W/"${hash("sha256", page.text, "base64url").slice(0, 27)}"`,
      "content-length": String(Buffer.byteLength(page.text)),
    });
    const [group] = page.body.data;
    const single = await client.must.get(`/tenants/groups/${id}`);
    expect(single.text).toBe(JSON.stringify(group));
    expect((await client.must.put(`/tenants/groups/${id}`, { name: "All" })).body).toEqual(group);
    const byId = new Map(made.map((user) => [user.id, user]));
    for (const member of group.users) expect(byId.get(member.id)).toMatchObject(member);
    expect(group.users.map((member: { id: string }) => member.id)).toEqual([...byId.keys()].sort());
    const known = { "if-none-match": String(page.headers.etag) };
    expect(await client.get("/tenants/groups?filter[name]=All", known)).toMatchObject({ status: 304, text: "" });
  });
});

test("a group that does not exist is not found", async () => {
  expect(await tenant.client.get(`/tenants/groups/${unknownId}`)).toMatchObject({
    status: 404,
    body: { code: "not_found" },
  });
});
