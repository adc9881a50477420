import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeId, unique, uniqueEmail } from "../../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
});

async function newUser(...groups: string[]): Promise<string> {
  const { status, body, text } = await tenant.client.post("/tenants/users", { email: uniqueEmail(), groups });
  expect(status, text).toBe(201);
  return body.id;
}

async function newGroup(...roleTypes: string[]): Promise<string> {
  const { body: all } = await tenant.client.get("/tenants/roles");
  const roles = all
    .filter(({ type }: { type: string }) => roleTypes.includes(type))
    .map(({ id }: { id: string }) => id);
  const { status, body, text } = await tenant.client.post("/tenants/groups", { name: unique("Group"), roles });
  expect(status, text).toBe(201);
  return body.id;
}

async function groupsOf(id: string): Promise<string[]> {
  const { body } = await tenant.client.get(`/tenants/users/${id}`);
  return body.groups.map((group: { id: string }) => group.id);
}

async function eventsOf(id: string) {
  return (await tenant.client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;
}

describe("addUserToGroup", () => {
  test("answers with the user, increments the version, and records the membership", async () => {
    const [id, groupId] = [await newUser(), await newGroup()];
    const reply = await tenant.client.post(`/tenants/users/${id}/groups`, { groupId: groupId.toUpperCase() });
    expect(reply).toMatchObject({ status: 201, headers: { etag: '"2"' } });
    expect(reply.body.groups.map((group: { id: string }) => group.id)).toContain(groupId);
    const event = (await eventsOf(id)).at(-1);
    expect(event).toMatchObject({ operation: "addUserToGroup", target: { type: "user", id } });
    expect([event.before.groups.length, event.after.groups.length]).toEqual([1, 2]);
    expect((await tenant.client.get(`/tenants/groups/${groupId}`)).headers.etag).toBe('"1"');
  });

  test("changes and records nothing for a current member", async () => {
    const groupId = await newGroup();
    const id = await newUser(groupId);
    const reply = await tenant.client.post(`/tenants/users/${id}/groups`, { groupId });
    expect(reply).toMatchObject({ status: 201, headers: { etag: '"1"' } });
    expect(await eventsOf(id)).toHaveLength(1);
  });

  test("grants no rights that the calling key lacks", async () => {
    const [id, strong, weak] = [await newUser(), await newGroup("ADMIN"), await newGroup("BASIC")];
    const { body: roles } = await tenant.client.get("/tenants/roles");
    expect(roles.length).toBeGreaterThan(0);
    const support = await tenant.client.post("/tenants/api-keys", { name: "Support", role: "SUPPORT" });
    const client = server.client(support.body.key);
    const refused = await client.post(`/tenants/users/${id}/groups`, { groupId: strong });
    expect(refused).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
    expect(refused.body.detail).toContain("policies:write");
    const invited = await client.post("/tenants/users", { email: uniqueEmail(), groups: [strong] });
    expect(invited).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
    expect((await client.post(`/tenants/users/${id}/groups`, { groupId: weak })).status).toBe(201);
    expect((await client.post("/tenants/users", { email: uniqueEmail(), groups: [weak] })).status).toBe(201);
    expect(await groupsOf(id)).not.toContain(strong);
    // A current member gains nothing.
    const member = await newUser(strong);
    expect((await client.post(`/tenants/users/${member}/groups`, { groupId: strong })).status).toBe(201);
  });
});

describe("updateUserGroups", () => {
  test("joins and leaves groups with one version and one entry, and changes nothing the second time", async () => {
    const [one, two, three] = [await newGroup(), await newGroup(), await newGroup()];
    const id = await newUser(one);
    const path = `/tenants/users/${id}/groups`;
    const body = { addedGroups: [two.toUpperCase(), three], removedGroups: [one] };
    const reply = await tenant.client.patch(path, body, { "if-match": '"1"' });
    expect(reply, reply.text).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect((await groupsOf(id)).sort()).toEqual([two, three].sort());
    const event = (await eventsOf(id)).at(-1);
    expect(event).toMatchObject({ operation: "updateUserGroups", before: { groups: [{ id: one }] } });
    expect(event.after.groups).toHaveLength(2);
    expect(await tenant.client.patch(path, body)).toMatchObject({ status: 200, headers: { etag: '"2"' } });
    expect(await eventsOf(id)).toHaveLength(2);
  });

  test("is refused without a group, with contradictions, and beyond the rights of the key", async () => {
    const [one, strong] = [await newGroup(), await newGroup("ADMIN")];
    const id = await newUser(one);
    const path = `/tenants/users/${id}/groups`;
    expect(await tenant.client.patch(path, { removedGroups: [one] })).toMatchObject({
      status: 409,
      body: { code: "last_group" },
    });
    expect(await tenant.client.patch(path, { addedGroups: [strong, one], removedGroups: [one] })).toMatchObject({
      status: 422,
      body: { code: "invalid_combination", errors: [{ pointer: "/removedGroups/0" }] },
    });
    const support = await tenant.client.post("/tenants/api-keys", { name: "Support", role: "SUPPORT" });
    const refused = await server.client(support.body.key).patch(path, { addedGroups: [strong] });
    expect(refused).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
    expect(await groupsOf(id)).toEqual([one]);
  });

  test("replaces more groups in a change set than the set has changes, and one revert restores them", async () => {
    const create = async () => {
      const changes = Array.from({ length: 100 }, () => ({
        method: "POST",
        path: "/tenants/groups",
        body: { name: unique("Group"), roles: [] },
      }));
      const { body } = await tenant.client.must.post("/tenants/changes", { changes });
      return body.changes.map((change: { body: { id: string } }) => change.body.id) as string[];
    };
    const [removedGroups, addedGroups] = [await create(), await create()];
    const id = await newUser(...removedGroups);
    const at = `/tenants/users/${id}`;
    const set = await tenant.client.post("/tenants/changes", {
      changes: [
        { method: "PUT", path: at, body: { firstName: "Ann" } },
        { method: "PATCH", path: `${at}/groups`, body: { addedGroups, removedGroups } },
      ],
    });
    expect(set.status, set.text).toBe(200);
    expect((await groupsOf(id)).sort()).toEqual(addedGroups.sort());
    const reverted = await tenant.client.post(`/tenants/events/${set.body.changes[1].events[0]}/revert`);
    expect(reverted.body).toMatchObject({ cannot: [], changes: [{ method: "PATCH", path: `${at}/groups` }] });
    expect((await groupsOf(id)).sort()).toEqual(removedGroups.sort());
  });
});

describe("removeUserFromGroup", () => {
  test("removes the user and records it; the last group cannot be removed", async () => {
    const [one, two] = [await newGroup(), await newGroup()];
    const id = await newUser(one, two);
    const path = `/tenants/users/${id}/groups`;
    expect(await tenant.client.delete(`${path}/${one}`, { "if-match": '"1"' })).toMatchObject({
      status: 204,
      text: "",
    });
    expect(await groupsOf(id)).toEqual([two]);
    expect((await eventsOf(id)).at(-1)).toMatchObject({ operation: "removeUserFromGroup", after: { groups: [{}] } });
    expect(await tenant.client.delete(`${path}/${two}`)).toMatchObject({ status: 409, body: { code: "last_group" } });
  });

  test("does not find a group that the user is not in, whatever the version", async () => {
    const [id, other] = [await newUser(await newGroup()), await newGroup()];
    const reply = await tenant.client.delete(`/tenants/users/${id}/groups/${other}`, { "if-match": '"9"' });
    expect(reply).toMatchObject({ status: 404, body: { code: "not_found" } });
  });

  test("keeps one group when two administrators remove the last two at once", async () => {
    const [one, two] = [await newGroup(), await newGroup()];
    for (let round = 0; round < 5; round += 1) {
      const id = await newUser(one, two);
      const replies = await Promise.all(
        [one, two].map((group) => tenant.client.delete(`/tenants/users/${id}/groups/${group}`)),
      );
      expect(replies.map(({ status }) => status).sort()).toEqual([204, 409]);
      expect(await groupsOf(id)).toHaveLength(1);
    }
  });
});

describe("memberships that change while groups are deleted", () => {
  test("leave no user without a group, and do not deadlock", async () => {
    for (let round = 0; round < 3; round += 1) {
      const groups = await Promise.all(Array.from({ length: 4 }, () => newGroup()));
      const users = await Promise.all(Array.from({ length: 6 }, () => newUser(...groups)));
      const replies = await Promise.all([
        ...groups.map((group) => tenant.client.delete(`/tenants/groups/${group}`)),
        ...users.flatMap((id) => groups.map((group) => tenant.client.delete(`/tenants/users/${id}/groups/${group}`))),
        ...users.flatMap((id) =>
          groups.map((groupId) => tenant.client.post(`/tenants/users/${id}/groups`, { groupId })),
        ),
        ...users.map((id) => tenant.client.patch(`/tenants/users/${id}/groups`, { addedGroups: groups })),
        tenant.client.post("/tenants/users", { email: uniqueEmail(), groups: [...groups].reverse() }),
      ]);
      for (const { status, text } of replies) expect([200, 201, 204, 404, 409, 422], text).toContain(status);
      for (const id of users) expect((await groupsOf(id)).length).toBeGreaterThan(0);
    }
  });
});

describe("uniqueness under concurrency", () => {
  test("only one of many concurrent invitations to an address succeeds, in any letter case", async () => {
    const local = makeLocal();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        tenant.client.post("/tenants/users", { email: `${index % 2 === 0 ? local : local.toUpperCase()}@example.com` }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  test("only one of many concurrently created or renamed groups gets a name", async () => {
    const name = unique("Taken");
    const ids = await Promise.all(Array.from({ length: 8 }, () => makeId("group", tenant.client)));
    const replies = await Promise.all([
      ...ids.map((id) => tenant.client.put(`/tenants/groups/${id}`, { name })),
      ...ids.map(() => tenant.client.post("/tenants/groups", { name })),
    ]);
    expect(replies.filter(({ status }) => status < 300)).toHaveLength(1);
    for (const { status, body } of replies) if (status >= 300) expect(body.code).toBe("name_taken");
  });
});

function makeLocal(): string {
  return uniqueEmail().split("@", 1)[0] ?? "";
}

describe("the group limit", () => {
  test("a user can be in 256 groups, whose export can be applied, and not in 257", { timeout: 300_000 }, async () => {
    const names = Array.from({ length: 257 }, (_, index) => `Group ${index}`);
    const { body: exported } = await tenant.client.get("/tenants/configuration");
    const email = uniqueEmail();
    const groups = [...(exported.groups ?? []), ...names.map((name) => ({ name }))];
    const document = { version: 1, groups, users: [...exported.users, { email, groups: names.slice(0, 256) }] };
    const applied = await tenant.client.post("/tenants/configuration/apply", document);
    expect(applied.status, applied.text).toBe(200);
    const again = (await tenant.client.get("/tenants/configuration")).body;
    expect(again.users.find((user: { email: string }) => user.email === email).groups).toHaveLength(256);
    const plan = await tenant.client.post("/tenants/configuration/plan", again);
    expect(plan, plan.text).toMatchObject({ status: 200, body: { changes: [] } });

    const all = (await tenant.client.get("/tenants/groups?limit=100&filter[name]=Group 256")).body.data;
    const id = (await tenant.client.get(`/tenants/users?filter[email]=${email}`)).body.data[0].id;
    const refused = await tenant.client.post(`/tenants/users/${id}/groups`, { groupId: all[0].id });
    expect(refused).toMatchObject({ status: 409, body: { code: "group_limit_reached" } });
  });
});
