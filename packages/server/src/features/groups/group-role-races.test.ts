/** Rights that a group gives while a caller who holds less acts on its members (docs/decisions/0258). */
import { beforeAll, expect, test } from "vitest";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { requestDuring } from "../../testing/request-during.ts";
import { activeUser, givePasskey, signInAs } from "../../testing/signed-in-person.ts";
import {
  sharedTestServer,
  type TestClient,
  type TestReply,
  type TestServer,
  type TestTenant,
} from "../../testing/test-server.ts";
import { lockUserOfSession } from "../sessions/signed-in-user.queries.ts";
import * as queries from "./groups.queries.ts";

let server: TestServer;
let tenant: TestTenant;
let admin: string;
let support: TestClient;
beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  const { body: roles } = await tenant.client.must.get("/tenants/roles");
  admin = roles.find(({ type }: { type: string }) => type === "ADMIN").id;
  support = server.client(await tenant.keyWith("users:read", "users:write", "groups:read"));
});

async function makeGroup(): Promise<string> {
  return (await tenant.client.must.post("/tenants/groups", { name: unique("Group"), roles: [] })).body.id;
}

async function memberOf(groupId: string): Promise<string> {
  const { id } = await activeUser(server, tenant, uniqueEmail());
  await tenant.client.must.post(`/tenants/users/${id}/groups`, { groupId });
  return id;
}

const during = (change: (tx: TenantTx) => Promise<unknown>, request: () => Promise<TestReply>) =>
  requestDuring(server, tenant, change, request);

/** Gives a group the role ADMIN, as `updateGroup` does. */
async function giveAdmin(tx: TenantTx, id: string): Promise<void> {
  await queries.lockGroup(tx, id);
  await queries.lockMembers(tx, id);
  const row = await queries.readGroup(tx, id);
  if (row === undefined) throw new Error("the group is gone");
  const { name, description, max_devices: maxDevices } = row.group;
  const settings = { id, name, description, maxDevices, deviceSessionLifetime: null, isSamlDefaultGroup: false };
  const group = { ...settings, idpMapping: [], roleIds: [admin] };
  await queries.updateGroups(tx, grantedToSystem<"groups:write">(), [group], new Date());
}

const memberships: Readonly<Record<string, (groupId: string, userId: string) => Promise<TestReply>>> = {
  "adding a member": (groupId, id) => support.post(`/tenants/users/${id}/groups`, { groupId }),
  "changing the groups of a user": (groupId, id) =>
    support.patch(`/tenants/users/${id}/groups`, { addedGroups: [groupId] }),
  "creating a member": (groupId) => support.post("/tenants/users", { email: uniqueEmail(), groups: [groupId] }),
};

test.each(Object.entries(memberships))("%s waits for a change of the group's roles", async (_, request) => {
  const [group, { id }] = [await makeGroup(), await activeUser(server, tenant, uniqueEmail())];
  const { reply } = await during(
    (tx) => giveAdmin(tx, group),
    () => request(group, id),
  );
  expect(reply).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
});

test("removing a member waits for a change of the group's roles", async () => {
  const group = await makeGroup();
  const id = await memberOf(group);
  const { reply } = await during(
    (tx) => giveAdmin(tx, group),
    () => support.delete(`/tenants/users/${id}/groups/${group}`),
  );
  expect(reply).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
});

test("a role that a group gains waits for commands about its members", async () => {
  const group = await makeGroup();
  const id = await memberOf(group);
  const { reply, waited } = await during(
    (tx) => lockUserOfSession(tx, id),
    () => tenant.client.put(`/tenants/groups/${group}`, { roles: [admin] }),
  );
  expect([reply?.status, waited]).toEqual([200, true]);
});

test("other changes of a group do not wait for commands about its members", async () => {
  const group = await makeGroup();
  const id = await memberOf(group);
  const { reply, waited } = await during(
    (tx) => lockUserOfSession(tx, id),
    () => tenant.client.put(`/tenants/groups/${group}`, { description: "Changed" }),
  );
  expect([reply?.status, waited]).toEqual([200, false]);
});

const actions: Readonly<Record<string, (userId: string) => Promise<TestReply>>> = {
  "a deactivation": (id) => support.send("PATCH", `/tenants/users/${id}/deactivate`),
  "a deletion": (id) => support.delete(`/tenants/users/${id}`),
  "a new enrolment link": (id) => support.post(`/tenants/users/${id}/enrolment-links`, {}),
  "a reset of passkeys": (id) => support.delete(`/tenants/users/${id}/passkeys`),
  "the end of all sessions": (id) => support.delete(`/tenants/users/${id}/sessions`),
  "the end of one session": async (id) => {
    const { body } = await tenant.client.must.get(`/tenants/sessions?filter[user.id]=${id}`);
    return support.delete(`/tenants/sessions/${body.data[0].id}`);
  },
  "the deletion of a passkey": async (id) => {
    const { body } = await tenant.client.must.get(`/tenants/users/${id}/passkeys`);
    return support.delete(`/tenants/users/${id}/passkeys/${body[0].id}`);
  },
  "the revocation of an enrolment link": async (id) => {
    const { body } = await tenant.client.must.get(`/tenants/users/${id}/enrolment-links`);
    return support.delete(`/tenants/users/${id}/enrolment-links/${body[0].id}`);
  },
};

test.each(Object.entries(actions))("%s waits for a role that a group of the user gains", async (_, request) => {
  const group = await makeGroup();
  const id = await memberOf(group);
  await signInAs(server, tenant.id, id);
  await givePasskey(server, tenant.id, id, "Laptop");
  await tenant.client.must.post(`/tenants/users/${id}/enrolment-links`, {});
  const { reply } = await during(
    (tx) => giveAdmin(tx, group),
    () => request(id),
  );
  expect(reply).toMatchObject({ status: 403, body: { code: "grants_exceed_caller" } });
});
