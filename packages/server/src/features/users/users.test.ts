import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { setLastConnection } from "../../testing/last-connection.queries.ts";
import { publicKey } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

const unknownId = "01980000-0000-7000-8000-000000000000";

let server: TestServer;
let client: TestClient;
let tenantId: string;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  const tenant = await server.newTenant();
  client = tenant.client;
  tenantId = tenant.id;
});

async function newUser(email = "ann@example.com") {
  return (await client.post("/tenants/users", { email })).body;
}

async function newDevice(userId: string) {
  const device = { name: "Laptop", userId, hardwareId: "HW1", publicKey: publicKey() };
  return (await client.post("/tenants/devices", device)).body;
}

async function eventsOf(id: string) {
  return (await client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
}

test("the owner is there from the start, in the default group, with the owner's role", async () => {
  const { body } = await client.get("/tenants/users");
  expect(body).toMatchObject({
    total: 1,
    data: [
      {
        email: "owner@example.com",
        status: "active",
        isOwner: true,
        roles: [{ type: "OWNER" }, { type: "DEFAULT" }],
        groups: [{ name: "Default" }],
        devices: [],
      },
    ],
  });
});

describe("updateUserProfile", () => {
  test('changes what is given, clears what is "", keeps the rest', async () => {
    const { id } = await newUser();
    const first = await client.put(`/tenants/users/${id}`, { firstName: "Ann", lastName: "Lee", image: "/ann.png" });
    expect(first).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
      body: { firstName: "Ann", lastName: "Lee", image: "/ann.png" },
    });
    const second = await client.put(`/tenants/users/${id}`, { lastName: "" }, { "if-match": '"2"' });
    expect(second).toMatchObject({
      status: 200,
      headers: { etag: '"3"' },
      body: { firstName: "Ann", image: "/ann.png" },
    });
    expect(second.body).not.toHaveProperty("lastName");
    expect((await client.get(`/tenants/users/${id}`)).body).toEqual(second.body);
  });

  test("refuses fields outside of the profile", async () => {
    const { id } = await newUser();
    expect(await client.put(`/tenants/users/${id}`, { email: "other@example.com" })).toMatchObject({
      status: 400,
      body: { code: "invalid_body", errors: [{ pointer: "/email" }] },
    });
  });
});

describe("updateUserSettings", () => {
  test("sets the device limit and replaces the attributes; null and {} unset them", async () => {
    const { id } = await newUser();
    const path = `/tenants/users/${id}`;
    const attributes = { department: "Engineering", grade: 7, remote: true };
    expect((await client.patch(path, { maxDevices: 3, attributes })).body).toMatchObject({ maxDevices: 3, attributes });
    const replaced = await client.patch(path, { attributes: { title: "Lead" } });
    expect(replaced.body).toMatchObject({ maxDevices: 3 });
    expect(replaced.body.attributes).toEqual({ title: "Lead" });
    const unset = await client.patch(path, { maxDevices: null, attributes: {} });
    expect(unset).toMatchObject({ headers: { etag: '"4"' }, body: { maxDevices: null } });
    expect(unset.body.attributes).toEqual({});
  });
});

test("a write without changes answers with the record and records nothing", async () => {
  const { id } = await newUser();
  const path = `/tenants/users/${id}`;
  const profile = { firstName: "Ann", lastName: "Lee", image: "/ann.png" };
  const attributes = { department: "Engineering", grade: 7, remote: true };
  await client.must.put(path, profile);
  const { body } = await client.patch(path, { maxDevices: 3, attributes });
  const reversed = Object.fromEntries(Object.entries(attributes).reverse());
  const same = (headers: Record<string, string>) => [
    client.put(path, profile, headers),
    client.put(path, {}, headers),
    client.patch(path, { maxDevices: 3, attributes: reversed }, headers),
    client.patch(path, {}, headers),
  ];
  for (const reply of await Promise.all(same({ "if-match": '"3"' }))) {
    expect(reply).toMatchObject({ status: 200, headers: { etag: '"3"' } });
    expect(reply.body).toEqual(body);
  }
  for (const reply of await Promise.all(same({ "if-match": '"2"' }))) expect(reply.status).toBe(412);
  expect(await eventsOf(id)).toHaveLength(3);
});

describe("deactivateUser and reactivateUser", () => {
  test("restores the previous status, pending or active", async () => {
    const [pending, active] = [await newUser(), await newUser("ben@example.com")];
    await newDevice(active.id);
    for (const [{ id }, status] of [
      [pending, "pending"],
      [active, "active"],
    ]) {
      expect(await client.patch(`/tenants/users/${id}/deactivate`)).toMatchObject({
        status: 200,
        body: { status: "inactive" },
      });
      expect(await client.post(`/tenants/users/${id}/reactivate`)).toMatchObject({ status: 201, body: { status } });
    }
  });

  test("deactivating twice changes and records nothing the second time", async () => {
    const { id } = await newUser();
    const once = await client.patch(`/tenants/users/${id}/deactivate`);
    const twice = await client.patch(`/tenants/users/${id}/deactivate`);
    expect(twice).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(twice.body).toEqual(once.body);
    expect(await eventsOf(id)).toHaveLength(2);
  });

  test("shows the user's devices as Deactivated for as long", async () => {
    const { id } = await newUser();
    await newDevice(id);
    const inactive = await client.patch(`/tenants/users/${id}/deactivate`);
    expect(inactive.body.devices).toMatchObject([{ status: "Deactivated", active: true }]);
    const restored = await client.post(`/tenants/users/${id}/reactivate`);
    expect(restored.body.devices).toMatchObject([{ status: "Offline", active: true }]);
  });

  test("refuses to reactivate a user who is not deactivated", async () => {
    const { id } = await newUser();
    expect(await client.post(`/tenants/users/${id}/reactivate`)).toMatchObject({
      status: 409,
      body: { code: "user_not_deactivated" },
    });
  });
});

describe("deleteUser", () => {
  test("deactivates the devices and removes their user, and records each change", async () => {
    const { id } = await newUser();
    const devices = [await newDevice(id), await newDevice(id)];
    expect(await client.delete(`/tenants/users/${id}`)).toMatchObject({ status: 204, text: "" });
    expect((await client.get(`/tenants/users/${id}`)).status).toBe(404);
    for (const device of devices) {
      const kept = await client.get(`/tenants/devices/${device.id}`);
      expect(kept).toMatchObject({
        headers: { etag: '"2"' },
        body: { name: "Laptop", active: false, status: "Deactivated", publicKey: device.publicKey },
      });
      expect(kept.body).not.toHaveProperty("user");
      expect((await eventsOf(device.id)).at(-1)).toMatchObject({
        operation: "deleteUser",
        before: { active: true, user: { id } },
        after: kept.body,
      });
    }
    expect((await eventsOf(id)).at(-1)).toMatchObject({ operation: "deleteUser", before: { id, devices } });
    expect((await client.get("/tenants/users")).body.total).toBe(1);
    expect((await client.get("/tenants/devices")).body.total).toBe(2);
  });

  test("records which policies lose the user, and keeps the rest of the policies", async () => {
    const [gone, stays] = [await newUser(), await newUser("ben@example.com")];
    const fields = { type: "PRIVATE", action: true, users: [gone.id, stays.id] };
    const policies = [];
    for (const name of ["Forge", "Wiki"]) {
      policies.push((await client.post("/tenants/policies", { ...fields, name })).body);
    }
    const { headers } = await client.delete(`/tenants/users/${gone.id}`);
    for (const { id, name } of policies) {
      const event = (await eventsOf(id)).at(-1);
      const target = { type: "policy", id, name };
      expect(event).toMatchObject({ operation: "deleteUser", requestId: headers["x-request-id"], target });
      expect(event.before).toEqual({ id, name, user: { id: gone.id, email: gone.email } });
      expect(event.after).toEqual({ id, name });
      const kept = await client.get(`/tenants/policies/${id}`);
      expect(kept).toMatchObject({ headers: { etag: '"1"' }, body: { users: [{ id: stays.id }] } });
    }
  });

  test("frees the address", async () => {
    const { id } = await newUser();
    await client.must.delete(`/tenants/users/${id}`);
    expect((await client.post("/tenants/users", { email: "ann@example.com" })).status).toBe(201);
  });

  test("may delete the owner", async () => {
    const [owner] = (await client.get("/tenants/users")).body.data;
    expect((await client.delete(`/tenants/users/${owner.id}`)).status).toBe(204);
  });
});

describe("callers with fewer permissions than the user", () => {
  const refused = { status: 403, body: { code: "grants_exceed_caller" } };
  let support: TestClient;
  beforeEach(async () => {
    support = server.client((await client.must.post("/tenants/api-keys", { name: "Help", role: "SUPPORT" })).body.key);
  });

  async function newAdministrator(): Promise<{ id: string; roles: string[] }> {
    const roles = (await client.get("/tenants/roles")).body
      .filter(({ type }: { type: string }) => type === "ADMIN")
      .map(({ id }: { id: string }) => id);
    const email = `${randomUUID()}@example.com`;
    return { id: (await client.must.post("/tenants/users", { email, roles })).body.id, roles };
  }

  test("neither deactivate nor delete the owner", async () => {
    const [{ id }] = (await client.get("/tenants/users")).body.data;
    expect(await support.patch(`/tenants/users/${id}/deactivate`)).toMatchObject(refused);
    expect(await support.delete(`/tenants/users/${id}`)).toMatchObject(refused);
    const change = { method: "DELETE", path: `/tenants/users/${id}` };
    expect(await support.post("/tenants/changes", { changes: [change] })).toMatchObject(refused);
    expect((await client.get(`/tenants/users/${id}`)).body.status).toBe("active");
  });

  test("neither deactivate, delete nor reactivate an administrator", async () => {
    const { id, roles } = await newAdministrator();
    const path = `/tenants/users/${id}`;
    expect(await support.patch(`${path}/deactivate`)).toMatchObject(refused);
    expect(await support.delete(path)).toMatchObject(refused);
    const deactivated = await client.must.patch(`${path}/deactivate`);
    expect(await support.post(`${path}/reactivate`)).toMatchObject(refused);
    const revert = `/tenants/events/${deactivated.headers["gatehouse-event"]}/revert`;
    const permissions = ["events:read", "users:write"];
    const reader = server.client((await client.must.post("/tenants/api-keys", { name: "R", permissions })).body.key);
    expect(await reader.post(revert)).toMatchObject(refused);
    expect((await client.post(`${path}/reactivate`)).status).toBe(201);
    expect((await client.get(path)).body.roles).toContainEqual(expect.objectContaining({ id: roles[0] }));
  });

  test("neither end the sessions of the owner nor those of an administrator", async () => {
    const [owner] = (await client.get("/tenants/users")).body.data;
    for (const { id } of [owner, await newAdministrator()]) {
      expect(await support.delete(`/tenants/users/${id}/sessions`)).toMatchObject(refused);
      expect((await client.delete(`/tenants/users/${id}/sessions`)).status).toBe(204);
    }
    const { id } = await newUser("bob@example.com");
    expect((await support.delete(`/tenants/users/${id}/sessions`)).status).toBe(204);
  });

  test("remove no roles from an administrator, and no membership in a group that has them", async () => {
    const { id, roles } = await newAdministrator();
    const change = { removedRoles: roles };
    expect(await support.patch(`/tenants/users/${id}/roles`, change)).toMatchObject(refused);
    const group = (await client.must.post("/tenants/groups", { name: "Administrators", roles })).body.id;
    await client.must.post(`/tenants/users/${id}/groups`, { groupId: group });
    expect(await support.delete(`/tenants/users/${id}/groups/${group}`)).toMatchObject(refused);
    expect(await support.patch(`/tenants/users/${id}/groups`, { removedGroups: [group] })).toMatchObject(refused);
    const plain = (await client.must.post("/tenants/groups", { name: "Engineers" })).body.id;
    await client.must.post(`/tenants/users/${id}/groups`, { groupId: plain });
    expect((await support.delete(`/tenants/users/${id}/groups/${plain}`)).status).toBe(204);
    const permissions = ["roles:write"];
    const key = (await client.must.post("/tenants/api-keys", { name: "R", permissions })).body.key;
    expect(await server.client(key).delete(`/tenants/roles/${roles[0]}/users/${id}`)).toMatchObject(refused);
    expect((await client.patch(`/tenants/users/${id}/roles`, change)).status).toBe(200);
  });

  test("still remove a stolen device of an administrator", async () => {
    const { id: user } = await newAdministrator();
    const { id } = await newDevice(user);
    expect((await support.delete(`/tenants/devices/${id}`)).status).toBe(204);
  });

  test("may deactivate, reactivate and delete a user who holds no permissions", async () => {
    const { id } = await newUser();
    expect((await support.patch(`/tenants/users/${id}/deactivate`)).status).toBe(200);
    expect((await support.post(`/tenants/users/${id}/reactivate`)).status).toBe(201);
    expect((await support.delete(`/tenants/users/${id}`)).status).toBe(204);
  });
});

describe("all operations on a single user", () => {
  const each: [string, (path: string, headers?: Record<string, string>) => ReturnType<TestClient["get"]>][] = [
    ["updateUserProfile", (path, headers) => client.put(path, { firstName: "Ann" }, headers)],
    ["updateUserSettings", (path, headers) => client.patch(path, { maxDevices: 1 }, headers)],
    ["deleteUser", (path, headers) => client.delete(path, headers)],
    ["deactivateUser", (path, headers) => client.patch(`${path}/deactivate`, undefined, headers)],
    ["reactivateUser", (path, headers) => client.post(`${path}/reactivate`, undefined, headers)],
  ];
  test.each(each)("%s answers 404 for an unknown id and 412 for an old version", async (_operation, call) => {
    expect(await call(`/tenants/users/${unknownId}`, { "if-match": '"7"' })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
    const { id } = await newUser();
    expect(await call(`/tenants/users/${id}`, { "if-match": '"7"' })).toMatchObject({
      status: 412,
      body: { code: "precondition_failed" },
    });
  });
});

describe("listUsers", () => {
  const emails = async (query: string) => {
    const { body } = await client.get(`/tenants/users?${query}`);
    expect(body.total).toBe(body.data.length);
    return body.data.map(({ email }: { email: string }) => email);
  };

  test("sorts regardless of letter case; users without a value come last", async () => {
    const ann = await newUser("Zoe.Ann@example.com");
    const ben = await newUser("ben@example.com");
    await client.must.put(`/tenants/users/${ann.id}`, { firstName: "ann", lastName: "Zimmer" });
    await client.must.put(`/tenants/users/${ben.id}`, { firstName: "Ben", lastName: "adler" });
    await setLastConnection(server, tenantId, "users", ben.id, new Date("2026-01-31T12:00:00.000Z"));
    const owner = "owner@example.com";
    expect(await emails("sort=email")).toEqual(["ben@example.com", owner, "Zoe.Ann@example.com"]);
    expect(await emails("sort=firstName")).toEqual(["Zoe.Ann@example.com", "ben@example.com", owner]);
    expect(await emails("sort=lastName:asc")).toEqual(["ben@example.com", "Zoe.Ann@example.com", owner]);
    expect(await emails("sort=createdAt")).toEqual([owner, "Zoe.Ann@example.com", "ben@example.com"]);
    expect((await emails("sort=lastConnection"))[0]).toBe("ben@example.com");
  });

  test("filters by address without regard to case, status, group and role", async () => {
    const group = (await client.post("/tenants/groups", { name: "Engineering" })).body.id;
    await client.must.post("/tenants/users", { email: "Ann@Example.com", groups: [group] });
    const owner = "owner@example.com";
    expect(await emails("filter[email]=ANN@example.com")).toEqual(["Ann@Example.com"]);
    expect(await emails("filter[email][in]=ann@example.com,nobody@example.com")).toEqual(["Ann@Example.com"]);
    expect(await emails("filter[email][ne]=ann@example.com")).toEqual([owner]);
    expect(await emails("filter[email][ilike]=%25@EXAMPLE.com")).toHaveLength(2);
    expect(await emails("filter[email][nin]=ANN@example.com,nobody@example.com")).toEqual([owner]);
    expect(await emails("filter[status]=pending")).toEqual(["Ann@Example.com"]);
    expect(await emails(`filter[groups.id]=${group}`)).toEqual(["Ann@Example.com"]);
    expect(await emails(`filter[groups.id][ne]=${group}`)).toEqual([owner]);
    expect(await emails("filter[roles.type]=OWNER")).toEqual([owner]);
  });

  test("finds an address in letters that JavaScript and PostgreSQL lower differently", async () => {
    const email = "ΑΣ@example.com";
    await newUser(email);
    const given = encodeURIComponent(email);
    for (const filter of ["[eq]", "[in]", "[ilike]"]) {
      expect(await emails(`filter[email]${filter}=${given}`), filter).toEqual([email]);
    }
    for (const filter of ["[ne]", "[nin]"]) {
      expect(await emails(`filter[email]${filter}=${given}`), filter).toEqual(["owner@example.com"]);
    }
  });
});

test("users created together have their own names in the answer and in the audit record", async () => {
  const people = ["ann", "bob"].map((name) => ({ email: `${name}@example.com`, firstName: name }));
  const made = await client.must.post("/tenants/users", people);
  expect(made.body).toMatchObject([{ firstName: "ann" }, { firstName: "bob" }]);
  expect(await eventsOf(made.body[1].id)).toMatchObject([{ after: { firstName: "bob" } }]);
});
