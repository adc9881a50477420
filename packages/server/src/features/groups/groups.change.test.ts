import { permissions } from "@gatehouse/contract/permissions";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

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

async function roleId(type: string): Promise<string> {
  const { body } = await client.get("/tenants/roles");
  return body.find((role: { type: string }) => role.type === type).id;
}

async function newGroup(fields: object = {}) {
  const { status, body, text } = await client.post("/tenants/groups", { name: unique("Group"), ...fields });
  expect(status, text).toBe(201);
  return body;
}

async function newUser(...groups: string[]) {
  return (await client.post("/tenants/users", { email: uniqueEmail(), groups })).body;
}

async function eventsOf(id: string) {
  return (await client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
}

async function defaultGroup() {
  return (await client.get("/tenants/groups?filter[name]=Default")).body.data[0];
}

describe("updateGroup", () => {
  test("changes given fields, clears empty ones, and keeps the rest", async () => {
    const [support, basic] = [await roleId("SUPPORT"), await roleId("BASIC")];
    const group = await newGroup({ description: "First", roles: [support], maxDevices: 2, idpMapping: ["desk"] });
    const path = `/tenants/groups/${group.id}`;
    const first = await client.put(path, { name: " Desk ", roles: [basic, support.toUpperCase()] });
    expect(first).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
      body: { name: "Desk", description: "First", maxDevices: 2, idpMapping: ["desk"] },
    });
    // The most privileged first.
    expect(first.body.roles.map(({ type }: { type: string }) => type)).toEqual(["SUPPORT", "BASIC"]);
    const second = await client.put(path, { description: "", maxDevices: 0, idpMapping: [], roles: [] });
    expect(second.body).toMatchObject({ name: "Desk", maxDevices: 0, idpMapping: [], roles: [] });
    expect(second.body).not.toHaveProperty("description");
    expect((await client.get(path)).body).toEqual(second.body);
    expect((await eventsOf(group.id)).at(-1)).toMatchObject({
      operation: "updateGroup",
      before: { description: "First", roles: [{}, {}] },
      after: { maxDevices: 0, roles: [] },
    });
  });

  test("answers with the group without a difference, and records nothing", async () => {
    const fields = { roles: [await roleId("SUPPORT"), await roleId("BASIC")], idpMapping: ["desk"], maxDevices: 3 };
    const group = await newGroup(fields);
    const path = `/tenants/groups/${group.id}`;
    for (const body of [{}, fields, { ...fields, roles: [...fields.roles].reverse(), isSamlDefaultGroup: false }]) {
      const reply = await client.put(path, body);
      expect(reply).toMatchObject({ status: 200, headers: { etag: '"1"' } });
      expect(reply.body).toEqual(group);
    }
    expect(await eventsOf(group.id)).toHaveLength(1);
  });

  test("changes the roles that members inherit, without new versions of the members", async () => {
    const group = await newGroup();
    const { id } = await newUser(group.id);
    await client.must.put(`/tenants/groups/${group.id}`, { roles: [await roleId("AUDITOR")] });
    expect(await client.get(`/tenants/users/${id}`)).toMatchObject({
      headers: { etag: '"1"' },
      body: { roles: [{ type: "AUDITOR" }] },
    });
  });

  test("refuses a taken name and the owner's role", async () => {
    const path = `/tenants/groups/${(await newGroup()).id}`;
    expect(await client.put(path, { name: "Default" })).toMatchObject({
      status: 409,
      body: { code: "name_taken", errors: [{ pointer: "/name" }] },
    });
    expect(await client.put(path, { roles: [await roleId("BASIC"), await roleId("OWNER")] })).toMatchObject({
      status: 422,
      body: { code: "role_not_assignable", errors: [{ pointer: "/roles/1" }] },
    });
  });

  test("grants no rights that the calling key lacks: by roles, or by a path into the group", async () => {
    const weak = server.client(await tenant.keyWith("groups:write", "groups:read", "roles:read"));
    const [admin, standard] = [await roleId("ADMIN"), await roleId("DEFAULT")];
    const strong = await newGroup({ roles: [admin], idpMapping: ["admins"] });
    const plain = await newGroup({ roles: [standard] });
    const refusal = { status: 403, body: { code: "grants_exceed_caller" } };
    expect(await weak.post("/tenants/groups", { name: unique("Group"), roles: [admin] })).toMatchObject(refusal);
    expect(await weak.put(`/tenants/groups/${plain.id}`, { roles: [admin] })).toMatchObject(refusal);
    expect(await weak.put(`/tenants/groups/${strong.id}`, { isSamlDefaultGroup: true })).toMatchObject(refusal);
    expect(await weak.put(`/tenants/groups/${strong.id}`, { idpMapping: ["admins", "all"] })).toMatchObject(refusal);
    // Changes that neither grant nor take anything need groups:write only.
    for (const body of [
      { roles: [admin, standard], name: unique("Renamed") },
      { roles: [admin], maxDevices: 1 },
    ]) {
      expect((await weak.put(`/tenants/groups/${strong.id}`, body)).status).toBe(200);
    }
    const changed = await weak.put(`/tenants/groups/${plain.id}`, { isSamlDefaultGroup: true, idpMapping: ["all"] });
    expect(changed.status).toBe(200);
  });
});

describe("rights that the calling key lacks", () => {
  const refusal = { status: 403, body: { code: "grants_exceed_caller" } };
  let weak: TestClient;
  beforeEach(async () => {
    weak = server.client(await tenant.keyWith("groups:write", "groups:read", "users:read", "events:read"));
  });

  async function strongGroup() {
    const group = await newGroup({ roles: [await roleId("ADMIN"), await roleId("DEFAULT")], idpMapping: ["admins"] });
    return { group, path: `/tenants/groups/${group.id}` };
  }

  test("are not taken from members, even in change sets", async () => {
    const { group, path } = await strongGroup();
    const { id } = await newUser((await defaultGroup()).id, group.id);
    const [admin, standard] = [await roleId("ADMIN"), await roleId("DEFAULT")];
    for (const body of [{ roles: [] }, { roles: [standard], name: "Others" }, { idpMapping: [] }]) {
      const reply = await weak.put(path, body);
      expect(reply, JSON.stringify(body)).toMatchObject(refusal);
      expect(reply.body.detail).toMatch(/^(The role ADMIN|Membership in the group .*) grants /);
    }
    expect(await weak.delete(path)).toMatchObject(refusal);
    for (const change of [
      { method: "PUT", path, body: { roles: [] } },
      { method: "DELETE", path },
    ]) {
      expect(await weak.post("/tenants/changes", { changes: [change] })).toMatchObject(refusal);
    }
    expect((await client.get(`/tenants/users/${id}`)).body.roles).toMatchObject([{ id: admin }, { id: standard }]);
    expect((await client.get(path)).headers.etag).toBe('"1"');
    // Roles whose permissions the key holds, and keys that hold all permissions, are not affected.
    await weak.must.put(path, { roles: [admin] });
    await server.client(await tenant.keyWith(...permissions)).must.put(path, { roles: [] });
    await weak.must.put(path, { idpMapping: [] });
    await weak.must.delete(path);
  });

  test("are not taken by reverting the change that granted them", async () => {
    const { id } = await newGroup();
    await client.must.put(`/tenants/groups/${id}`, { roles: [await roleId("ADMIN")] });
    const [created, granted] = await eventsOf(id);
    for (const event of [created, granted]) {
      expect(await weak.post(`/tenants/events/${event.id}/revert`)).toMatchObject(refusal);
    }
  });

  test("are not taken from a group without members, as they are not granted to it", async () => {
    const { path } = await strongGroup();
    expect(await weak.put(path, { roles: [] })).toMatchObject(refusal);
    expect(await weak.delete(path)).toMatchObject(refusal);
    expect(await weak.delete(path, { "if-match": '"7"' })).toMatchObject({ status: 412 });
  });
});

describe("the SAML default group", () => {
  test("hands its mark over, with a new version and its own entry, and cannot merely lose it", async () => {
    const [before, next] = [await defaultGroup(), await newGroup()];
    const moved = await client.put(`/tenants/groups/${next.id}`, { isSamlDefaultGroup: true });
    expect(moved).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
      body: { isSamlDefaultGroup: true, deleteable: false },
    });
    expect(await client.get(`/tenants/groups/${before.id}`)).toMatchObject({
      headers: { etag: '"2"' },
      body: { isSamlDefaultGroup: false },
    });
    expect((await eventsOf(before.id)).at(-1)).toMatchObject({
      operation: "updateGroup",
      before: { isSamlDefaultGroup: true },
      after: { isSamlDefaultGroup: false },
    });
    expect(await client.put(`/tenants/groups/${next.id}`, { isSamlDefaultGroup: false })).toMatchObject({
      status: 409,
      body: { code: "saml_default_group_required" },
    });
    expect((await client.put(`/tenants/groups/${next.id}`, { isSamlDefaultGroup: true })).headers.etag).toBe('"2"');
  });

  test("stays unique under concurrent marks, renames and deletions", async () => {
    for (let round = 0; round < 3; round += 1) {
      const groups = await Promise.all(Array.from({ length: 8 }, () => newGroup()));
      const { id: first } = await defaultGroup();
      const replies = await Promise.all([
        ...[...groups, { id: first }].map(({ id }) =>
          client.put(`/tenants/groups/${id}`, { isSamlDefaultGroup: true }),
        ),
        ...[...groups, { id: first }].map(({ id }) => client.put(`/tenants/groups/${id}`, { maxDevices: round + 1 })),
        ...groups.slice(0, 3).map(({ id }) => client.delete(`/tenants/groups/${id}`)),
        client.post("/tenants/groups", { name: unique("New"), isSamlDefaultGroup: true }),
      ]);
      for (const { status, text } of replies) expect([200, 201, 204, 404, 409], text).toContain(status);
      expect((await client.get("/tenants/groups?filter[isSamlDefaultGroup]=true")).body.total).toBe(1);
    }
  });
});

describe("deleteGroup", () => {
  test("removes the group from its members, who keep their versions, and records it", async () => {
    const [gone, stays] = [await newGroup({ roles: [await roleId("BILLING")] }), await newGroup()];
    const { id, email } = await newUser(gone.id, stays.id);
    expect(await client.delete(`/tenants/groups/${gone.id}`, { "if-match": '"1"' })).toMatchObject({
      status: 204,
      text: "",
    });
    expect((await client.get(`/tenants/groups/${gone.id}`)).status).toBe(404);
    expect(await client.get(`/tenants/users/${id}`)).toMatchObject({
      headers: { etag: '"1"' },
      body: { groups: [{ id: stays.id }], roles: [] },
    });
    const event = (await eventsOf(id)).at(-1);
    expect(event).toMatchObject({ operation: "deleteGroup", target: { type: "user", id, name: email } });
    expect(event.before).toEqual({ id, email, group: { id: gone.id, name: gone.name } });
    expect(event.after).toEqual({ id, email });
    const { users: _users, ...before } = gone;
    expect((await eventsOf(gone.id)).at(-1)).toMatchObject({ operation: "deleteGroup", before });
    expect((await client.get("/tenants/groups")).body.total).toBe(2);
  });

  test("removes it from policies, which then apply to nobody rather than to everybody, and records each", async () => {
    const [gone, stays] = [await newGroup(), await newGroup()];
    const policy = async (groups: string[]) =>
      (await client.post("/tenants/policies", { name: unique("Policy"), type: "PRIVATE", action: true, groups })).body;
    const [only, both] = [await policy([gone.id]), await policy([gone.id, stays.id])];
    await client.must.delete(`/tenants/groups/${gone.id}`);
    const all = { allGroups: false, allUsers: false, allDevices: false, users: [], devices: [] };
    expect(await client.get(`/tenants/policies/${only.id}`)).toMatchObject({
      headers: { etag: '"1"' },
      body: { ...all, groups: [] },
    });
    expect((await client.get(`/tenants/policies/${both.id}`)).body).toMatchObject({
      ...all,
      groups: [{ id: stays.id }],
    });
    for (const { id, name } of [only, both]) {
      const event = (await eventsOf(id)).at(-1);
      expect(event).toMatchObject({ operation: "deleteGroup", target: { type: "policy", id, name } });
      expect(event.before).toEqual({ id, name, group: { id: gone.id, name: gone.name } });
      expect(event.after).toEqual({ id, name });
    }
  });

  test("refuses the default group and the SAML default group", async () => {
    const { id } = await defaultGroup();
    const saml = await newGroup({ isSamlDefaultGroup: true });
    for (const group of [id, saml.id]) {
      expect(await client.delete(`/tenants/groups/${group}`)).toMatchObject({
        status: 409,
        body: { code: "group_is_default" },
      });
    }
  });

  test("refuses to delete the only group of a user, and names such users", async () => {
    const [group, other] = [await newGroup(), await newGroup()];
    const alone = [];
    for (let index = 0; index < 7; index += 1) alone.push(await newUser(group.id));
    await newUser(group.id, other.id);
    const refused = await client.delete(`/tenants/groups/${group.id}`);
    expect(refused).toMatchObject({ status: 409, body: { code: "last_group" } });
    expect(refused.body.errors).toHaveLength(7);
    for (const { id, email } of alone) {
      expect(refused.body.errors).toContainEqual({ pointer: `/tenants/users/${id}`, message: email });
    }
    expect(refused.body.detail).toContain(group.name);
    expect((await client.get(`/tenants/groups/${group.id}`)).body.users).toHaveLength(8);
  });
});
