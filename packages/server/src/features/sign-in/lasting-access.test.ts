/** Requests of an old session for what outlives it (docs/decisions/0279-what-outlives-a-session.md). */
import { beforeAll, describe, expect, test } from "vitest";
import { proveNewKey } from "../../testing/new-wireguard-key.ts";
import { make, makeId, publicKey, unique, uniqueEmail, webhookUrl } from "../../testing/operations/test-records.ts";
import { revertingClient } from "../../testing/reverting-client.ts";
import { activeUser, ownerOf, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
/** The owner, who authenticated 16 minutes ago. */
let person: ReturnType<typeof personClient>;
/** The owner, who authenticated now. */
let recent: ReturnType<typeof personClient>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  const { id } = await ownerOf(tenant);
  const authTime = new Date(server.runner.clock.now().getTime() - 16 * 60_000);
  person = personClient(server, await signInAs(server, tenant.id, id, { authTime }));
  recent = personClient(server, await signInAs(server, tenant.id, id));
});

const asked = { status: 401, body: { code: "recent_authentication_required" } };

interface Request {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

/** Requires that an old session is refused, and that a recent one and a key are not. */
async function requiresRecent(request: () => Promise<Request> | Request): Promise<void> {
  for (const [client, isRefused] of [
    [person, true],
    [recent, false],
    [tenant.client, false],
  ] as const) {
    const { method, path, body } = await request();
    const reply = await client.send(method, path, body);
    if (isRefused) expect(reply).toMatchObject(asked);
    else expect(reply.status, reply.text).toBeLessThan(300);
  }
}

/** Requires that an old session does not revert the last event of a record, but sees what the revert would do. */
async function isRestoredByRecentOnly(id: string): Promise<void> {
  const event = await revertingClient(tenant.client).lastEvent(id);
  const path = `/tenants/events/${event}/revert`;
  const preview = await person.post(`${path}?preview`);
  expect(preview.status, preview.text).toBe(200);
  expect(preview.body.refused).toBeUndefined();
  expect(await person.post(path)).toMatchObject(asked);
  const reverted = await recent.post(path);
  expect(reverted.status, reverted.text).toBe(200);
}

const deviceOf = (userId: string) => ({
  name: unique("Laptop"),
  userId,
  hardwareId: unique("H"),
  publicKey: publicKey(),
});
const gateway = () => ({ name: unique("Gateway"), wireguardPort: "51820" });
const changes = (...parts: Request[]): Request => ({
  method: "POST",
  path: "/tenants/changes",
  body: { changes: parts },
});

describe("an old session", () => {
  test.each([
    ["oneself", async () => (await ownerOf(tenant)).id],
    ["another user", async () => (await activeUser(server, tenant, uniqueEmail())).id],
  ])("enrols no device of %s, alone or in a change set", async (_, userIdOf) => {
    const userId = await userIdOf();
    await tenant.client.must.patch(`/tenants/users/${userId}`, { maxDevices: 1000 });
    const enrolment = (): Request => ({ method: "POST", path: "/tenants/devices", body: deviceOf(userId) });
    await requiresRecent(enrolment);
    await requiresRecent(() => changes(enrolment()));
  });

  test("invites no user, alone or in a change set, because the user could sign in at a provider", async () => {
    const invitation = (body: object): Request => ({ method: "POST", path: "/tenants/users", body });
    await requiresRecent(() => invitation({ email: uniqueEmail() }));
    await requiresRecent(() => invitation([{ email: uniqueEmail() }]));
    await requiresRecent(() => changes(invitation({ email: uniqueEmail() })));
  });

  test("renews no invitation", async () => {
    const id = await makeId("user", tenant.client);
    await requiresRecent(() => ({ method: "POST", path: `/tenants/users/${id}/invite` }));
  });

  test("does not bring a deleted user back", async () => {
    const id = await makeId("user", tenant.client);
    await tenant.client.must.delete(`/tenants/users/${id}`);
    await isRestoredByRecentOnly(id);
  });

  test("reactivates no user, alone or in a change set", async () => {
    const { id } = await activeUser(server, tenant, uniqueEmail());
    const reactivation = async (): Promise<Request> => {
      await tenant.client.must.patch(`/tenants/users/${id}/deactivate`);
      return { method: "POST", path: `/tenants/users/${id}/reactivate` };
    };
    await requiresRecent(reactivation);
    await requiresRecent(async () => changes(await reactivation()));
    await tenant.client.must.patch(`/tenants/users/${id}/deactivate`);
    await isRestoredByRecentOnly(id);
  });

  test("reactivates no device that was deactivated, alone or in a change set", async () => {
    const id = await makeId("device", tenant.client);
    const reactivation = async (): Promise<Request> => {
      await tenant.client.must.patch(`/tenants/devices/${id}/deactivate`);
      return { method: "POST", path: `/tenants/devices/${id}/reactivate` };
    };
    await requiresRecent(reactivation);
    await requiresRecent(async () => changes(await reactivation()));
    await tenant.client.must.patch(`/tenants/devices/${id}/deactivate`);
    const preview = { changes: [{ method: "POST", path: `/tenants/devices/${id}/reactivate` }] };
    expect((await person.post("/tenants/policies/preview", preview)).status).toBe(200);
    await isRestoredByRecentOnly(id);
  });

  test("approves a device that waits", async () => {
    const { id: userId } = await activeUser(server, tenant, uniqueEmail());
    const client = server.client(undefined, await signInAs(server, tenant.id, userId));
    await tenant.client.must.put("/tenants/settings", { deviceApproval: "administrator" });
    const { id } = (await client.must.post("/tenants/my/devices", { name: "Phone", ...(await proveNewKey(client)) }))
      .body;
    await tenant.client.must.put("/tenants/settings", { deviceApproval: "automatic" });
    const reply = await person.post(`/tenants/devices/${id}/reactivate`);
    expect(reply.status, reply.text).toBe(201);
    expect(reply.body).toMatchObject({ active: true });
  });

  test.each([
    { resolvers: ["192.0.2.53"] },
    { domains: [{ domain: "corp.example.com", resolvers: ["192.0.2.53"] }] },
    { networks: null },
  ])("does not change the answers of a gateway with %j, alone or in a change set", async (body) => {
    const id = await makeId("gateway", tenant.client);
    const path = `/tenants/gateways/${id}/settings`;
    await requiresRecent(() => ({ method: "PUT", path, body }));
    await requiresRecent(() => changes({ method: "PUT", path, body }));
    expect((await person.send("PUT", path, { relayPort: null })).status).toBe(200);
    const other = { resolvers: ["192.0.2.54"], domains: [], networks: [] };
    await tenant.client.must.put(path, other);
    await isRestoredByRecentOnly(id);
  });

  test("does not lengthen the sessions of a group's devices, but renames the group", async () => {
    const id = await makeId("group", tenant.client);
    const path = `/tenants/groups/${id}`;
    await tenant.client.must.put(path, { deviceSessionLifetime: 3_600 });
    await requiresRecent(() => ({ method: "PUT", path, body: { deviceSessionLifetime: 7_200 } }));
    await requiresRecent(() => changes({ method: "PUT", path, body: { deviceSessionLifetime: null } }));
    await isRestoredByRecentOnly(id);
    const renamed = await person.send("PUT", path, { name: unique("Group") });
    expect(renamed.status, renamed.text).toBe(200);
  });

  test("rotates no token of a device", async () => {
    const id = await makeId("device", tenant.client);
    await requiresRecent(() => ({ method: "POST", path: `/tenants/devices/${id}/rotate-token` }));
  });

  test("creates no gateway, alone or in a change set, but changes load balancing", async () => {
    const creation = (): Request => ({ method: "POST", path: "/tenants/gateways", body: gateway() });
    await requiresRecent(creation);
    await requiresRecent(() => changes(creation()));
    const resource = await makeId("resource", tenant.client);
    const other = await makeId("gateway", tenant.client);
    const body = { loadBalancingMode: "MANUAL", gateways: [other] };
    const reply = await person.post(`/tenants/resources/${resource}/loadBalancing`, body);
    expect(reply.status, reply.text).toBe(204);
  });

  test("does not bring a deleted gateway back, which would get another token", async () => {
    const id = await makeId("gateway", tenant.client);
    await tenant.client.must.delete(`/tenants/gateways/${id}`);
    await isRestoredByRecentOnly(id);
  });

  test("creates no webhook", async () => {
    await requiresRecent(() => ({ method: "POST", path: "/tenants/webhooks", body: { url: webhookUrl } }));
  });

  test.each(["PUT", "PATCH"] as const)(
    "changes no URL of a webhook with %s, alone or in a change set",
    async (method) => {
      const id = await makeId("webhook", tenant.client);
      const update = (body: object): Request => ({ method, path: `/tenants/webhooks/${id}`, body });
      await requiresRecent(() => update({ url: `${webhookUrl}/${unique("path").replace(" ", "-")}` }));
      await requiresRecent(() => changes(update({ url: `${webhookUrl}/${unique("path").replace(" ", "-")}` })));
      for (const body of [{ name: "Renamed" }, { events: ["user.*"] }, { active: false }, { active: true }]) {
        const reply = await person.send(method, `/tenants/webhooks/${id}`, body);
        expect(reply.status, reply.text).toBe(200);
      }
    },
  );

  test("does not return a webhook to its former URL", async () => {
    const { id } = await make("webhook", tenant.client);
    await tenant.client.must.put(`/tenants/webhooks/${id}`, { url: `${webhookUrl}/another` });
    const moved = await revertingClient(tenant.client).lastEvent(id);
    expect(await person.post(`/tenants/events/${moved}/revert`)).toMatchObject(asked);
    await tenant.client.must.put(`/tenants/webhooks/${id}`, { description: "Changed" });
    const described = await revertingClient(tenant.client).lastEvent(id);
    expect((await person.post(`/tenants/events/${described}/revert`)).status).toBe(200);
    expect((await recent.post(`/tenants/events/${moved}/revert`)).status).toBe(200);
  });
});
