import type { RoleType } from "@gatehouse/contract/permissions";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unique, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let roles: Record<RoleType, string>;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
  const { body } = await tenant.client.get("/tenants/roles");
  roles = Object.fromEntries(body.map(({ type, id }: { type: string; id: string }) => [type, id])) as typeof roles; // one role per type
});

async function newUser(...groups: string[]): Promise<string> {
  return (await tenant.client.post("/tenants/users", { email: uniqueEmail(), groups })).body.id;
}

async function newGroup(...types: RoleType[]): Promise<string> {
  const fields = { name: unique("Group"), roles: types.map((type) => roles[type]) };
  return (await tenant.client.post("/tenants/groups", fields)).body.id;
}

const change = (id: string, added: RoleType[], removed: RoleType[] = [], client = tenant.client) =>
  client.patch(`/tenants/users/${id}/roles`, {
    addedRoles: added.map((type) => roles[type]),
    removedRoles: removed.map((type) => roles[type]),
  });

const typesOf = (items: { type: string }[]) => items.map(({ type }) => type);

async function heldBy(id: string, query = ""): Promise<string[]> {
  const { status, body, text } = await tenant.client.get(`/tenants/users/${id}/roles${query}`);
  expect(status, text).toBe(200);
  return typesOf(body);
}

async function eventsOf(id: string) {
  return (await tenant.client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
}

describe("listUserRoles", () => {
  test("lists direct and inherited roles once each, the most privileged first", async () => {
    const id = await newUser(await newGroup("BILLING", "AUDITOR"), await newGroup("AUDITOR", "DEFAULT"));
    await change(id, ["BASIC", "AUDITOR", "SUPPORT"]);
    expect(await heldBy(id)).toEqual(["SUPPORT", "AUDITOR", "BASIC", "BILLING", "DEFAULT"]);
    expect(await heldBy(id, "?groupsOnly=true")).toEqual(["AUDITOR", "BILLING", "DEFAULT"]);
    expect(await heldBy(id, "?rolesOnly=true")).toEqual(["SUPPORT", "AUDITOR", "BASIC"]);
    expect(await heldBy(id, "?groupsOnly&rolesOnly")).toEqual(["AUDITOR"]);
    expect(await heldBy(id, "?groupsOnly=false&rolesOnly=false")).toHaveLength(5);
    const { body } = await tenant.client.get(`/tenants/users/${id}`);
    expect(typesOf(body.roles)).toEqual(await heldBy(id));
  });

  test.each(["groupsOnly=yes", "groupsOnly=true&groupsOnly=true", "groups=true", "rolesOnly[eq]=true"])(
    "refuses ?%s",
    async (query) => {
      const reply = await tenant.client.get(`/tenants/users/${await newUser()}/roles?${query}`);
      expect(reply).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
    },
  );

  test("a filter finds users by inherited roles too", async () => {
    const id = await newUser(await newGroup("BILLING"));
    const { body } = await tenant.client.get("/tenants/users?filter[roles.type]=BILLING");
    expect(body).toMatchObject({ total: 1, data: [{ id }] });
    expect((await tenant.client.get("/tenants/users?filter[roles.type][ne]=BILLING")).body.total).toBe(1);
  });
});

describe("updateUserRoles", () => {
  test("adds and removes, answers 200 without a body, and records the change", async () => {
    const id = await newUser();
    const added = await change(id, ["SUPPORT", "BILLING"]);
    expect(added).toMatchObject({ status: 200, text: "", headers: { etag: '"2"' } });
    expect(await change(id, ["AUDITOR"], ["SUPPORT"])).toMatchObject({ status: 200, headers: { etag: '"3"' } });
    expect(await heldBy(id, "?rolesOnly=true")).toEqual(["AUDITOR", "BILLING"]);
    const event = (await eventsOf(id)).at(-1);
    expect(event.operation).toBe("updateUserRoles");
    expect(typesOf(event.before.roles)).toEqual(["SUPPORT", "BILLING", "DEFAULT"]);
    expect(typesOf(event.after.roles)).toEqual(["AUDITOR", "BILLING", "DEFAULT"]);
  });

  test("changes and records nothing without a difference", async () => {
    const id = await newUser();
    await change(id, ["BASIC"]);
    expect(await change(id, ["BASIC"], ["BILLING"])).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect((await tenant.client.patch(`/tenants/users/${id}/roles`, {})).headers.etag).toBe('"2"');
    expect(await eventsOf(id)).toHaveLength(2);
  });

  test("neither grants nor removes the owner's role", async () => {
    const [owner] = (await tenant.client.get("/tenants/users?filter[roles.type]=OWNER")).body.data;
    expect(await change(await newUser(), ["BASIC", "OWNER"])).toMatchObject({
      status: 422,
      body: { code: "role_not_assignable", errors: [{ pointer: "/addedRoles/1" }] },
    });
    expect(await change(owner.id, [], ["OWNER"])).toMatchObject({
      status: 422,
      body: { code: "role_not_assignable", errors: [{ pointer: "/removedRoles/0" }] },
    });
  });

  test("refuses a role in both lists, and removing a role that only a group grants", async () => {
    const id = await newUser(await newGroup("BILLING"));
    expect(await change(id, ["BASIC"], ["BASIC"])).toMatchObject({
      status: 422,
      body: { code: "invalid_combination", errors: [{ pointer: "/removedRoles/0" }] },
    });
    expect(await change(id, ["BASIC"], ["BILLING"])).toMatchObject({
      status: 409,
      body: { code: "role_inherited", errors: [{ pointer: "/removedRoles/0" }] },
    });
    expect(await heldBy(id)).toEqual(["BILLING"]);
  });

  test("neither grants nor removes permissions that the calling key lacks", async () => {
    const key = await tenant.client.post("/tenants/api-keys", { name: "Support", role: "SUPPORT" });
    const support = server.client(key.body.key);
    const id = await newUser();
    for (const type of ["ADMIN", "AUDITOR", "OWNER"] as const) {
      const refused = await change(id, ["BASIC", type], [], support);
      expect(refused, type).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
      expect(refused.body.detail).toContain("events:read");
    }
    expect((await change(id, ["SUPPORT", "BASIC"], [], support)).status).toBe(200);
    await change(id, ["ADMIN"]);
    expect((await change(id, ["ADMIN"], [], support)).headers.etag).toBe('"3"');
    const taken = await change(id, [], ["ADMIN"], support);
    expect(taken).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
    // Removing a role that the user does not hold changes nothing.
    expect((await change(id, [], ["AUDITOR"], support)).status).toBe(200);
    expect((await change(id, [], ["SUPPORT"], support)).status).toBe(200);
  });
});

describe("listRoleUsers", () => {
  test("lists direct holders of the role, and with `groups` also members who inherit it, in order of creation", async () => {
    const group = await newGroup("BILLING");
    const [both, inherits, directly] = [await newUser(group), await newUser(group), await newUser()];
    await change(both, ["BILLING"]);
    await change(directly, ["BILLING"]);
    const holders = async (query = "") => {
      const { body } = await tenant.client.get(`/tenants/roles/${roles.BILLING}/users${query}`);
      return body.map(({ id }: { id: string }) => id);
    };
    expect(await holders()).toEqual([both, directly]);
    expect(await holders("?groups=false")).toEqual([both, directly]);
    expect(await holders("?groups")).toEqual([both, inherits, directly]);
    const { body } = await tenant.client.get(`/tenants/roles/${roles.ADMIN}/users`);
    expect(body).toEqual([]);
  });

  test("is read in batches", async () => {
    const emails = Array.from({ length: 600 }, (_, index) => ({ email: `user${index}@example.com` }));
    for (let from = 0; from < emails.length; from += 100) {
      expect((await tenant.client.post("/tenants/users", emails.slice(from, from + 100))).status).toBe(201);
    }
    const { body } = await tenant.client.get(`/tenants/roles/${roles.DEFAULT}/users?groups=true`);
    const ids = body.map(({ id }: { id: string }) => id);
    expect(new Set(ids).size).toBe(601);
    expect(ids).toEqual([...ids].sort());
  });
});

describe("removeRoleFromUser", () => {
  const remove = (type: RoleType, id: string, headers: Record<string, string> = {}) =>
    tenant.client.delete(`/tenants/roles/${roles[type]}/users/${id}`, headers);

  test("removes direct roles and keeps inherited ones", async () => {
    const id = await newUser(await newGroup("BILLING"));
    await change(id, ["BILLING", "BASIC"]);
    expect(await remove("BASIC", id, { "if-match": '"2"' })).toMatchObject({ status: 204, text: "" });
    expect((await remove("BILLING", id)).status).toBe(204);
    expect(await heldBy(id)).toEqual(["BILLING"]);
    expect(await remove("BILLING", id)).toMatchObject({ status: 409, body: { code: "role_inherited" } });
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      operation: "removeRoleFromUser",
      target: { type: "user", id },
    });
  });

  test("does not find a role that the user does not hold, whatever the version", async () => {
    const id = await newUser();
    expect(await remove("ADMIN", id, { "if-match": '"9"' })).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  });

  test("keeps the owner's role", async () => {
    const [owner] = (await tenant.client.get("/tenants/users?filter[roles.type]=OWNER")).body.data;
    expect(await remove("OWNER", owner.id)).toMatchObject({ status: 409, body: { code: "owner_role_stays" } });
    expect((await remove("OWNER", await newUser())).status).toBe(404);
  });

  test("asks for roles:write", async () => {
    const client = server.client(await tenant.keyWith("users:write", "roles:read"));
    expect((await client.delete(`/tenants/roles/${roles.BASIC}/users/${await newUser()}`)).status).toBe(403);
  });
});
