import { beforeAll, expect, test } from "vitest";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
  network = await createAccessNetwork(server, tenant);
});

interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly as?: string;
  readonly body?: unknown;
}

const preview = (changes: readonly Change[], rest: object = {}, by = client) =>
  by.post("/tenants/policies/preview", { changes, ...rest });

async function previewed(changes: readonly Change[], rest: object = {}) {
  const reply = await preview(changes, rest);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

test("invited users gain access if their invitations count as accepted, and stay pending", async () => {
  const [group, email] = [unique("Writers"), uniqueEmail()];
  const changes: Change[] = [
    { method: "POST", path: "/tenants/groups", as: "group", body: { name: group } },
    { method: "POST", path: "/tenants/users", body: [{ email, groups: ["@group"] }] },
    {
      method: "POST",
      path: "/tenants/policies",
      body: {
        name: unique("Policy"),
        type: "PRIVATE",
        action: true,
        groups: ["@group"],
        resources: [network.wiki.id],
      },
    },
  ];
  expect(await previewed(changes)).toMatchObject({ gained: { pairs: 0 }, rows: [] });
  // Policies for all users grant more.
  const accepted = await previewed(changes, { invitationsAccepted: true });
  expect(accepted.gained).toMatchObject({ users: 1, devices: 0 });
  const row = { change: "gained", after: "always", subject: { kind: "user", name: email }, resource: network.wiki };
  expect(accepted.rows).toContainEqual(
    expect.objectContaining({ ...row, subject: expect.objectContaining(row.subject) }),
  );
});

test("pending users whose groups change count as active too", async () => {
  const [group, email] = [unique("Writers"), uniqueEmail()];
  const { id: groupId } = (await client.post("/tenants/groups", { name: group })).body;
  const [invited] = (await client.post("/tenants/users", [{ email }])).body;
  const body = { name: unique("Policy"), type: "PRIVATE", action: true, groups: [groupId] };
  await client.post("/tenants/policies", { ...body, resources: [network.wiki.id] });
  const path = `/tenants/users/${invited.id}/groups`;
  const joining: Change = { method: "PATCH", path, body: { addedGroups: [groupId], removedGroups: [] } };
  expect(await previewed([joining])).toMatchObject({ gained: { pairs: 0 } });
  const accepted = await previewed([joining], { invitationsAccepted: true });
  const subject = expect.objectContaining({ kind: "user", name: email });
  expect(accepted.rows).toContainEqual(expect.objectContaining({ change: "gained", subject, resource: network.wiki }));

  // The deletion of the group changes its members, but this caller cannot change users.
  expect((await client.patch(path, joining.body)).status).toBe(200);
  const key = server.client(await tenant.keyWith("decisions:read", "groups:write"));
  const deletion: Change = { method: "DELETE", path: `/tenants/groups/${groupId}` };
  const lost = await preview([deletion], { invitationsAccepted: true }, key);
  expect({ status: lost.status, gained: lost.body.gained?.pairs }).toEqual({ status: 200, gained: 0 });
  expect((await client.get(`/tenants/users/${invited.id}`)).body.status).toBe("pending");
});

test("users who accept by applying a configuration count as active", async () => {
  const email = uniqueEmail();
  const { users } = (await client.get("/tenants/configuration")).body;
  const [owner] = users;
  const body = { version: 1, users: [...users, { ...owner, email, roles: [] }] };
  const change: Change = { method: "POST", path: "/tenants/configuration/apply", body };
  expect((await previewed([change])).gained.pairs).toBe(0);
  const { rows } = await previewed([change], { invitationsAccepted: true });
  expect(rows.map(({ subject }: { readonly subject: { readonly name: string } }) => subject.name)).toContain(email);
});
