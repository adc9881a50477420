import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

const unknownId = "01980000-0000-7000-8000-000000000000";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
  client = tenant.client;
});

const invitations = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ email: `user${index}@example.com` }));

describe("a single invitation", () => {
  test("creates a pending user in the default group, with the address as given", async () => {
    const made = await client.post("/tenants/users", { email: " Ann.Lee@Example.com " });
    expect(made).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: `/tenants/users/${made.body.id}` },
      body: {
        email: "Ann.Lee@Example.com",
        status: "pending",
        isOwner: false,
        maxDevices: null,
        attributes: {},
        roles: [{ type: "DEFAULT" }],
        groups: [{ name: "Default" }],
        devices: [],
      },
    });
    for (const field of ["firstName", "lastName", "image", "lastConnection"]) {
      expect(made.body).not.toHaveProperty(field);
    }
    const read = await client.get(`/tenants/users/${made.body.id}`);
    expect(read.headers.etag).toBe('"1"');
    expect(read.body).toEqual(made.body);
  });

  test("stores the name that it gives", async () => {
    const name = { firstName: "Ann", lastName: "Example" };
    const { body } = await client.post("/tenants/users", { email: "ann@example.com", ...name });
    expect(body).toMatchObject(name);
    expect((await client.get(`/tenants/users/${body.id}`)).body).toMatchObject(name);
  });

  test("puts the user into the groups that it names, and into no other", async () => {
    const groups = [];
    for (const name of ["Engineering", "Berlin"]) {
      groups.push((await client.post("/tenants/groups", { name })).body.id);
    }
    const { body } = await client.post("/tenants/users", { email: "ann@example.com", groups });
    expect(body.groups.map(({ name }: { name: string }) => name)).toEqual(["Berlin", "Engineering"]);
    const empty = await client.post("/tenants/users", { email: "ben@example.com", groups: [] });
    expect(empty.body.groups).toMatchObject([{ name: "Default" }]);
  });

  test("assigns the roles that it names, directly and in the same entry", async () => {
    const { body: roles } = await client.get("/tenants/roles");
    const idOf = (type: string) => roles.find((role: { type: string }) => role.type === type).id;
    const invited = await client.post("/tenants/users", { email: "ann@example.com", roles: [idOf("SUPPORT")] });
    expect(invited, invited.text).toMatchObject({ status: 201, headers: { etag: '"1"' } });
    const direct = await client.get(`/tenants/users/${invited.body.id}/roles?rolesOnly`);
    expect(direct.body).toMatchObject([{ type: "SUPPORT" }]);
    const { data } = (await client.get(`/tenants/events?filter[target.id]=${invited.body.id}`)).body;
    expect(data).toMatchObject([{ operation: "createUsers", after: { roles: invited.body.roles } }]);
    const owner = await client.post("/tenants/users", [{ email: "ben@example.com", roles: [idOf("OWNER")] }]);
    expect(owner).toMatchObject({
      status: 422,
      body: { code: "role_not_assignable", errors: [{ pointer: "/0/roles/0" }] },
    });
  });

  test("is refused for an address that a user has, in any letter case", async () => {
    await client.must.post("/tenants/users", { email: "ann@example.com" });
    expect(await client.post("/tenants/users", { email: "ANN@example.com" })).toMatchObject({
      status: 409,
      body: { code: "email_taken", errors: [{ pointer: "/email" }] },
    });
  });

  test("refuses groups that do not exist or belong to another tenant", async () => {
    const theirs = (await (await server.newTenant()).client.post("/tenants/groups", { name: "Theirs" })).body.id;
    const groups = [unknownId, theirs];
    expect(await client.post("/tenants/users", { email: "ann@example.com", groups })).toMatchObject({
      status: 422,
      body: { code: "unknown_reference", errors: [{ pointer: "/groups/0" }, { pointer: "/groups/1" }] },
    });
  });
});

describe("a batch of invitations", () => {
  test("answers in the order of the request, with one audit entry per user", async () => {
    const batch = invitations(100).reverse();
    const made = await client.post("/tenants/users", batch);
    expect(made.status).toBe(201);
    expect(made.body.map(({ email }: { email: string }) => email)).toEqual(batch.map(({ email }) => email));
    expect((await client.get("/tenants/users")).body.total).toBe(101);
    const { body: events } = await client.get("/tenants/events?filter[operation]=createUsers");
    expect(events.total).toBe(100);
    expect(new Set(events.data.map(({ generation }: { generation: number }) => generation)).size).toBe(1);
  });

  test("answers with the record of each user, whatever groups, roles and attributes they have", async () => {
    const group = (await client.post("/tenants/groups", { name: "Engineering" })).body.id;
    const { body: roles } = await client.get("/tenants/roles");
    const support = roles.find((role: { type: string }) => role.type === "SUPPORT").id;
    const kinds = [{}, { groups: [group] }, { roles: [support] }, { attributes: { floor: 3, site: "Berlin" } }];
    const batch = invitations(12).map((invitation, index) => ({ ...invitation, ...kinds[index % kinds.length] }));
    const made = await client.post("/tenants/users", batch);
    expect(made.status, made.text).toBe(201);
    for (const user of made.body) expect((await client.get(`/tenants/users/${user.id}`)).body).toEqual(user);
  });

  test.each([["equal"], ["different"]])(
    "with many, %s attributes has an effect that covers all users",
    async (kind) => {
      const batch = invitations(100).map((invitation, index) => {
        const text = "x".repeat(250);
        const fields = Array.from({ length: 39 }, (_, field) => [`field${field}`, text] as const);
        return { ...invitation, attributes: { ...Object.fromEntries(fields), number: kind === "equal" ? 0 : index } };
      });
      const made = await client.post("/tenants/users", batch);
      expect(made.status, made.text.slice(0, 1_000)).toBe(201);
      expect(made.body).toHaveLength(100);
      const { model } = await server.runner.models.current(tenant.id);
      expect(model.users.size).toBe(101);
    },
  );

  test("with one invitation answers with an array", async () => {
    const made = await client.post("/tenants/users", invitations(1));
    expect(made.body).toHaveLength(1);
    expect(made.headers.location).toBeUndefined();
  });

  test.each([
    ["no invitation", []],
    ["over a hundred", invitations(101)],
  ])("with %s is malformed", async (_case, batch) => {
    expect(await client.post("/tenants/users", batch)).toMatchObject({ status: 400, body: { code: "invalid_body" } });
  });

  test("with an address twice makes no user, and points at the second", async () => {
    const batch = [{ email: "ann@example.com" }, { email: "ben@example.com" }, { email: "Ann@example.com" }];
    const refused = await client.post("/tenants/users", batch);
    expect(refused).toMatchObject({ status: 409, body: { code: "email_taken" } });
    expect(refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(["/2/email"]);
    expect((await client.get("/tenants/users")).body.total).toBe(1);
  });

  test("with an unknown group makes no user", async () => {
    const batch = [{ email: "ann@example.com" }, { email: "ben@example.com", groups: [unknownId] }];
    const refused = await client.post("/tenants/users", batch);
    expect(refused).toMatchObject({
      status: 422,
      body: { code: "unknown_reference", errors: [{ pointer: "/1/groups/0" }] },
    });
    expect((await client.get("/tenants/users")).body.total).toBe(1);
    expect((await client.get("/tenants/events?filter[operation]=createUsers")).body.total).toBe(0);
  });

  test("one of two concurrent batches with the same addresses in another order succeeds completely", async () => {
    const batch = invitations(50);
    const replies = await Promise.all([batch, batch.toReversed()].map((body) => client.post("/tenants/users", body)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect((await client.get("/tenants/users")).body.total).toBe(51);
  });
});
