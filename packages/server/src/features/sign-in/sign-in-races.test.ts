import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { BrowserPage, enrolmentLinkFor } from "../../testing/browser-page.ts";
import { makeId, publicKey, unique, uniqueEmail, webhookUrl } from "../../testing/operations/test-records.ts";
import { asCommand, requestDuring } from "../../testing/request-during.ts";
import { activeUser } from "../../testing/signed-in-person.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { VirtualPasskey } from "../../testing/virtual-passkey.ts";
import { deletePasskeys, lockPasskeysOfUser } from "../passkeys/passkeys.queries.ts";
import { deleteSessionsOfUser } from "../sessions/people-sessions.queries.ts";
import { beginSession, lockPersonSession } from "../sessions/sessions.api.ts";
import { lockUserOfSession } from "../sessions/signed-in-user.queries.ts";
import { updateUserStatus } from "../users/users.queries.ts";

let server: TestServer;
let tenant: TestTenant;
let user: { readonly id: string; readonly email: string };
let page: BrowserPage;
let passkey: VirtualPasskey;

beforeAll(async () => {
  const smtp = { host: "127.0.0.1", port: 9, tls: "optional", user: undefined, password: undefined } as const;
  const mail = { smtp, from: "gatehouse@example.com", perTenant: 100, intervalMs: 86_400_000 };
  server = await startTestServer({ settings: { mail } });
  tenant = await server.newTenant();
});
afterAll(() => server.close());
beforeEach(async () => {
  user = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
  passkey = new VirtualPasskey(server.runner.publicUrl());
  page = new BrowserPage(server);
  const reply = await page.enrol(await enrolmentLinkFor(server, tenant.id, user), passkey);
  expect(reply.status, reply.text).toBe(201);
});

async function during(change: (tx: TenantTx) => Promise<unknown>, request: () => Promise<TestReply>) {
  return (await requestDuring(server, tenant, change, request)).reply;
}

const reset = asCommand(async (tx) => {
  await lockUserOfSession(tx, user.id);
  const rows = await lockPasskeysOfUser(tx, user.id);
  await deletePasskeys(
    tx,
    rows.map(({ id }) => id),
  );
  await deleteSessionsOfUser(tx, user.id);
});

const deactivate = (tx: TenantTx) =>
  updateUserStatus(
    tx,
    grantedToSystem<"users:write">(),
    user.id,
    { status: "inactive", status_before: "active" },
    new Date(),
  );

/** Begins a session, as a sign-in does. */
async function begin(tx: TenantTx): Promise<void> {
  const now = server.runner.clock.now();
  const from = { address: "192.0.2.1", userAgent: "Test", authTime: now, amr: [] };
  await beginSession(tx, { userId: user.id, method: "passkey", ...from }, now);
}

const passkeysOfUser = async () => (await tenant.client.must.get(`/tenants/users/${user.id}/passkeys`)).body;
const sessionsOfUser = async () =>
  (await tenant.client.must.get(`/tenants/sessions?filter[user.id]=${user.id}`)).body.data;

test("a reset of passkeys refuses a sign-in in progress", async () => {
  const reply = await during(reset, () => new BrowserPage(server).signIn(passkey));
  expect(reply).toMatchObject({ status: 401, body: { code: "sign_in_failed" } });
});

test("a deactivation refuses a sign-in in progress", async () => {
  const reply = await during(deactivate, () => new BrowserPage(server).signIn(passkey));
  expect(reply).toMatchObject({ status: 401, body: { code: "sign_in_failed" } });
});

test("a session that ends registers no further passkey, and no recovery code", async () => {
  const added = await during(reset, () => page.register(new VirtualPasskey(server.runner.publicUrl())));
  expect(added).toMatchObject({ status: 401, body: { code: "session_ended" } });
  expect(await passkeysOfUser()).toEqual([]);
});

const device = () => ({ name: unique("Laptop"), hardwareId: unique("H"), publicKey: publicKey() });
const changes = [{ method: "PUT", path: "/tenants/settings", body: { deviceSessionLifetime: 3_600 } }];
test.each([
  ["creates no enrolment link", () => page.post(`/tenants/users/${user.id}/enrolment-links`)],
  ["creates no API key", () => page.post("/tenants/api-keys", { name: "Late", permissions: ["users:read"] })],
  ["creates no enrolment key", () => page.post("/tenants/enrolment-keys", { name: "Late", userId: user.id })],
  ["mails no enrolment link", () => page.post("/tenants/users", { email: uniqueEmail(), notify: true })],
  ["applies no document", () => page.post("/tenants/configuration/apply", { version: 1, groups: [] })],
  ["applies no dangerous changes", () => page.post("/tenants/changes", { changes })],
  ["invites no user", () => page.post("/tenants/users", { email: uniqueEmail() })],
  ["creates no gateway", () => page.post("/tenants/gateways", { name: unique("Late"), wireguardPort: "51820" })],
  ["creates no webhook", () => page.post("/tenants/webhooks", { url: webhookUrl })],
  ["enrols no device", () => page.post("/tenants/devices", { ...device(), userId: user.id })],
])("a session that ends %s", async (_, request) => {
  const reply = await during(reset, request);
  expect(reply, reply?.text).toMatchObject({ status: 401, body: { code: "session_ended" } });
});

test.each([
  ["rotates no token of a device", "device", "POST", "rotate-token", undefined],
  ["reactivates no device", "device", "POST", "reactivate", undefined],
  ["reactivates no user", "user", "POST", "reactivate", undefined],
  ["renews no invitation", "user", "POST", "invite", undefined],
  ["changes no URL of a webhook", "webhook", "PATCH", "", { url: `${webhookUrl}/late` }],
  ["changes no resolvers of a gateway", "gateway", "PUT", "settings", { resolvers: ["192.0.2.53"] }],
  ["lengthens no sessions of devices", "group", "PUT", "", { deviceSessionLifetime: 7_200 }],
] as const)("a session that ends %s", async (_, noun, method, verb, body) => {
  const id = await makeId(noun, tenant.client);
  const at = `/tenants/${noun}s/${id}`;
  if (verb === "reactivate") await tenant.client.must.patch(`${at}/deactivate`);
  const reply = await during(reset, () => page.send(method, verb === "" ? at : `${at}/${verb}`, body));
  expect(reply, reply?.text).toMatchObject({ status: 401, body: { code: "session_ended" } });
});

test("a reset of passkeys ends the session of a sign-in that was faster", async () => {
  const signIn = async (tx: TenantTx) => {
    await lockUserOfSession(tx, user.id);
    await begin(tx);
  };
  const reply = await during(signIn, () => tenant.client.send("DELETE", `/tenants/users/${user.id}/passkeys`));
  expect(reply?.status).toBe(204);
  expect(await sessionsOfUser()).toEqual([]);
});

test("ending a person's sessions also ends that of a program that is being approved", async () => {
  const [own] = await sessionsOfUser();
  const approve = async (tx: TenantTx) => {
    await lockPersonSession(tx, own.id);
    await begin(tx);
  };
  const reply = await during(approve, () => tenant.client.send("DELETE", `/tenants/users/${user.id}/sessions`));
  expect(reply?.status).toBe(204);
  expect(await sessionsOfUser()).toEqual([]);
});
