/** Links whose users hold permissions that the creators lack (docs/decisions/0258-worth-of-enrolment-links.md). */
import { afterAll, beforeAll, expect, test } from "vitest";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { BrowserPage, enrolmentLinkFor } from "../../testing/browser-page.ts";
import { makeId, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { VirtualPasskey } from "../../testing/virtual-passkey.ts";
import { joinGroups } from "../users/memberships/user-groups.queries.ts";

type User = { readonly id: string; readonly email: string };
type Creator = { post(path: string, body?: unknown): Promise<TestReply> };

const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
let admin: string;
let support: Creator;
beforeAll(async () => {
  server = await startTestServer({ clock });
  tenant = await server.newTenant();
  const { body: roles } = await tenant.client.must.get("/tenants/roles");
  admin = roles.find(({ type }: { type: string }) => type === "ADMIN").id;
  support = await person(await activeUser(server, tenant, uniqueEmail(), ["SUPPORT"]));
});
afterAll(() => server.close());

const person = async ({ id }: User) => personClient(server, await signInAs(server, tenant.id, id));
const plainUser = () => activeUser(server, tenant, uniqueEmail());
const promote = ({ id }: User) => tenant.client.must.patch(`/tenants/users/${id}/roles`, { addedRoles: [admin] });
const demote = ({ id }: User) => tenant.client.must.patch(`/tenants/users/${id}/roles`, { removedRoles: [admin] });
const group = async (...roles: string[]): Promise<string> =>
  (await tenant.client.must.post("/tenants/groups", { name: unique("Group"), roles })).body.id;
const join = ({ id }: User, groupId: string) => tenant.client.must.post(`/tenants/users/${id}/groups`, { groupId });

async function linkBy(creator: Creator, { id }: User): Promise<{ readonly token: string; readonly code: string }> {
  const { status, body, text } = await creator.post(`/tenants/users/${id}/enrolment-links`, {});
  expect(status, text).toBe(201);
  return { token: body.url.slice(body.url.indexOf("#") + 1), code: body.code };
}

const enrol = (token: string) => new BrowserPage(server).enrol(token, new VirtualPasskey("http://localhost:8080"));

async function expectOutgrown(token: string): Promise<void> {
  const reply = await enrol(token);
  expect(reply).toMatchObject({ status: 401, body: { code: "enrolment_link_outgrown" } });
}

async function expectEnrolled(token: string): Promise<void> {
  const reply = await enrol(token);
  expect(reply.status, reply.text).toBe(201);
}

const promotions: Readonly<Record<string, (user: User) => Promise<unknown>>> = {
  "a role": promote,
  "a group with a role": async (user) => join(user, await group(admin)),
  "a role of a group": async (user) => {
    const id = await group();
    await join(user, id);
    await tenant.client.must.put(`/tenants/groups/${id}`, { roles: [admin] });
  },
  "a group that a provider gives": async ({ id }) => {
    const granting = await group(admin);
    await server.database.transaction({ kind: "tenant", tenantId: tenant.id }, ({ query }) =>
      joinGroups({ tenantId: tenant.id, query }, grantedToSystem<"users:write">(), id, [granting]),
    );
  },
  "a configuration document": async ({ email }) => {
    const { body: document } = await tenant.client.must.get("/tenants/configuration");
    const users = document.users.map((user: { email: string; roles?: string[] }) =>
      user.email === email ? { ...user, roles: ["ADMIN"] } : user,
    );
    await tenant.client.must.post("/tenants/configuration/apply", { ...document, users });
  },
  "the ownership": ({ id }) => tenant.client.must.post(`/tenants/users/${id}/transfer-ownership`),
};

test.each(Object.entries(promotions))("a link of the help desk is refused once its user has %s", async (_, give) => {
  const user = await plainUser();
  const { token, code } = await linkBy(support, user);
  await give(user);
  await expectOutgrown(token);
  await expectOutgrown(code);
  const { body } = await tenant.client.must.get(`/tenants/sign-ins?filter[user.id]=${user.id}`);
  expect(body.data[0]).toMatchObject({
    method: "enrolment-link",
    outcome: "failed",
    reason: "the user holds permissions that the creator of the link does not hold",
  });
  expect((await tenant.client.must.get(`/tenants/users/${user.id}/passkeys`)).body).toEqual([]);
});

test("a promotion between the two steps refuses the passkey", async () => {
  const user = await plainUser();
  const { token } = await linkBy(support, user);
  const page = new BrowserPage(server);
  const begun = await page.post("/console/enrolment/options", { token });
  expect(begun.status, begun.text).toBe(200);
  await promote(user);
  const response = new VirtualPasskey("http://localhost:8080").register(begun.body.options);
  const reply = await page.post("/console/enrolment", { token, name: "Laptop", response });
  expect(reply).toMatchObject({ status: 401, body: { code: "enrolment_link_outgrown" } });
});

test("a refused link counts as a failed authentication of its address, and takes as long as a wrong one", async () => {
  const settings = { rateLimits: { perMinute: 0, authFailures: 2, shared: false } };
  const limited = await startTestServer({ clock, settings });
  try {
    const user = await plainUser();
    const { token } = await linkBy(support, user);
    await promote(user);
    const attempt = async () => {
      const startedAt = performance.now();
      const { body } = await new BrowserPage(limited).post("/console/enrolment/options", { token });
      return { code: body.code, tookMs: performance.now() - startedAt };
    };
    for (let tries = 0; tries < 2; tries += 1) {
      const { code, tookMs } = await attempt();
      expect(code).toBe("enrolment_link_outgrown");
      // Timers may be a millisecond early.
      expect(tookMs).toBeGreaterThan(198);
    }
    expect((await attempt()).code).toBe("too_many_failed_authentications");
  } finally {
    await limited.close();
  }
});

test("a link works again once the user has lost the permissions", async () => {
  const user = await plainUser();
  const { token } = await linkBy(support, user);
  await promote(user);
  await expectOutgrown(token);
  await demote(user);
  await expectEnrolled(token);
});

test("links of an administrator, a key with all permissions and the system remain valid", async () => {
  const administrator = await person(await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]));
  const user = await plainUser();
  const tokens = [
    await linkBy(administrator, user),
    await linkBy(tenant.client, user),
    { token: await enrolmentLinkFor(server, tenant.id, user) },
  ];
  await promote(user);
  for (const { token } of tokens) {
    expect((await new BrowserPage(server).post("/console/enrolment/options", { token })).status).toBe(200);
  }
});

test("a person's own link gives what the person holds", async () => {
  const user = await activeUser(server, tenant, uniqueEmail(), ["SUPPORT"]);
  const { token } = await linkBy(await person(user), user);
  await promote(user);
  await expectEnrolled(token);
});

test("a creator who lost permissions, was deactivated or deleted leaves links for plain users only", async () => {
  const ends: readonly ((creator: User) => Promise<unknown>)[] = [
    demote,
    ({ id }) => tenant.client.must.patch(`/tenants/users/${id}/deactivate`),
    ({ id }) => tenant.client.must.delete(`/tenants/users/${id}`),
  ];
  for (const end of ends) {
    const creator = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
    const [promoted, plain] = [await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]), await plainUser()];
    const client = await person(creator);
    const links = [await linkBy(client, promoted), await linkBy(client, plain)] as const;
    await end(creator);
    await expectOutgrown(links[0].token);
    await expectEnrolled(links[1].token);
  }
});

test("a key that was deleted or has expired leaves links for plain users only", async () => {
  const keyUntil = (expiresAt: Date) =>
    tenant.client.must.post("/tenants/api-keys", { name: "Key", role: "ADMIN", expiresAt: expiresAt.toISOString() });
  const hourMs = 60 * 60_000;
  const [deleted, expiring] = [
    await keyUntil(new Date(clock.now().getTime() + hourMs)),
    await keyUntil(new Date(clock.now().getTime() + hourMs)),
  ];
  const [promoted, plain] = [await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]), await plainUser()];
  const ofDeleted = await linkBy(server.client(deleted.body.key), promoted);
  const ofExpired = await linkBy(server.client(expiring.body.key), promoted);
  const ofPlain = await linkBy(server.client(deleted.body.key), plain);
  await tenant.client.must.delete(`/tenants/api-keys/${deleted.body.id}`);
  await expectOutgrown(ofDeleted.token);
  await expectEnrolled(ofPlain.token);
  clock.advance(2 * hourMs);
  await expectOutgrown(ofExpired.token);
  clock.advance(-2 * hourMs);
});

test("inviting a user by mail requires every permission of the user", async () => {
  const { body: user } = await tenant.client.must.post("/tenants/users", { email: uniqueEmail(), roles: [admin] });
  const invited = await support.post(`/tenants/users/${user.id}/invite`, { notify: true });
  expect([invited.status, invited.body.code]).toEqual([403, "grants_exceed_caller"]);
  expect((await support.post(`/tenants/users/${user.id}/invite`)).status).toBe(204);
  // Without an SMTP server, the request of a permitted caller fails later.
  const plain = await support.post(`/tenants/users/${await makeId("user", tenant.client)}/invite`, { notify: true });
  expect(plain.body.code).toBe("mail_not_configured");
});
