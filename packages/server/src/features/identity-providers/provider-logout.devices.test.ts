/** Back-channel logout ends the sessions of devices, with a provider that can be hostile. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { HostileProvider, type LogoutTokenChanges } from "../../testing/hostile-provider.ts";
import { publicKey, unique } from "../../testing/operations/test-records.ts";
import { ProviderWorld, providerTestUrl } from "../../testing/provider-world.ts";
import { personClient } from "../../testing/signed-in-person.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let hostile: HostileProvider;
let world: ProviderWorld;
let provider: { readonly id: string; readonly signInUrl: string; readonly backChannelLogoutUri: string };

beforeAll(async () => {
  hostile = await HostileProvider.start();
  server = await startTestServer({ settings: { providerNetworks: ["127.0.0.0/8"], publicUrl: () => providerTestUrl } });
});
beforeEach(async () => {
  sends({ sid: "session-1" });
  world = new ProviderWorld(server, await server.newTenant(), hostile);
  const id = await world.invite("ada@example.com");
  await world.tenant.client.must.patch(`/tenants/users/${id}`, { maxDevices: 5 });
  await world.tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: 28_800 });
  provider = await world.enabledProvider({ firstSignIn: "INVITED", linkVerifiedEmail: true });
});
afterAll(async () => {
  await server.close();
  await hostile.close();
});

/** Claims of the next ID tokens. */
function sends(claims: object): void {
  hostile.deviations = { claims: (correct) => ({ ...correct, ...claims }) };
}

async function post(url: string, form: Readonly<Record<string, string>>) {
  const response = await server.app.inject({
    method: "POST",
    url: url.replace(providerTestUrl, ""),
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: new URLSearchParams(form).toString(),
  });
  return { status: response.statusCode, body: response.body === "" ? undefined : response.json() };
}

/** A device that the person enrols after a sign-in at the provider. */
async function enrolled(sid: string): Promise<string> {
  sends({ sid, auth_time: Math.floor(Date.now() / 1000) });
  const cookie = await world.signIn(provider.signInUrl);
  const client = { client_id: "gatehouse-device" };
  const machine = { machine: unique("Laptop"), hardware_id: unique("Serial"), public_key: publicKey() };
  const { body: codes } = await post("/oauth/device_authorization", { ...client, ...machine });
  const browser = personClient(server, { cookie, "sec-fetch-site": "same-origin" });
  const answer = await browser.post("/console/device-authorization", { code: codes.user_code, approve: true });
  expect(answer.status, answer.text).toBe(200);
  const grant = "urn:ietf:params:oauth:grant-type:device_code";
  const { status, body } = await post("/oauth/token", {
    ...client,
    grant_type: grant,
    device_code: codes.device_code,
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.device.id;
}

const logOut = async (changes: LogoutTokenChanges = {}, uri = provider.backChannelLogoutUri) =>
  (await post(uri, { logout_token: hostile.logoutToken(changes) })).status;
const sessionOf = async (id: string) =>
  (await world.tenant.client.must.get(`/tenants/device-sessions?filter[id]=${id}`)).body.data[0];
const isTrusted = async (id: string) => {
  const { body } = await world.tenant.client.must.post("/access/v1/evaluation", {
    subject: { type: "device", id },
    action: { name: "connect" },
    resource: { type: "address", id: "10.99.0.1" },
  });
  return body.context.reason !== "device_session_ended";
};

test("a token that names a session ends the devices of that session, and no others", async () => {
  const [first, second] = [await enrolled("session-1"), await enrolled("session-2")];
  expect(await sessionOf(first)).toMatchObject({ state: "active", provider: { id: provider.id, name: "Provider" } });
  expect(await logOut({ claims: { sid: "session-1" } })).toBe(200);
  expect([await isTrusted(first), await isTrusted(second)]).toEqual([false, true]);
  expect(await sessionOf(first)).toMatchObject({
    state: "ended",
    endReason: "signed-out-at-provider",
    endedBy: { type: "system" },
  });
});

test("a token that names only the person ends all devices of the person", async () => {
  const devices = [await enrolled("session-1"), await enrolled("session-2")];
  expect(await logOut({ claims: { sid: undefined } })).toBe(200);
  expect(await Promise.all(devices.map(isTrusted))).toEqual([false, false]);
});

test("an enforced access test that expects access during a session does not refuse the token", async () => {
  const { client } = world.tenant;
  const device = await enrolled("session-1");
  const created = async (path: string, body: object): Promise<string> => (await client.must.post(path, body)).body.id;
  const resource = await created("/tenants/resources", { name: unique("Git"), type: "PRIVATE", addresses: [] });
  for (const text of ["has(session.provider)", "session.age < duration('8h')"]) {
    const body = { name: unique("Rule"), rule: text, hasTimeConstraint: text.includes("age") };
    const rule = await created("/tenants/admission-rules", body);
    const policy = { type: "PRIVATE", action: true, allUsers: true, resources: [resource], rule };
    await created("/tenants/policies", { name: unique("Policy"), ...policy });
  }
  await created("/tenants/access-tests", {
    name: unique("Test"),
    subject: { type: "device", id: device },
    device: "any",
    resource: { type: "resource", id: resource },
    expected: "allowed",
    enforced: true,
  });
  expect(await logOut({ claims: { sid: "session-1" } })).toBe(200);
  expect(await sessionOf(device)).toMatchObject({ state: "ended", endReason: "signed-out-at-provider" });
});

test.each<[string, LogoutTokenChanges]>([
  ["is signed with another key", { key: HostileProvider.otherKey() }],
  ["is for another client", { claims: { aud: "other" } }],
  ["names neither subject nor session", { claims: { sub: undefined, sid: undefined } }],
  ["has expired", { claims: { iat: Math.floor(Date.now() / 1000) - 300, exp: Math.floor(Date.now() / 1000) - 120 } }],
])("a token that %s ends no device", async (_what, changes) => {
  const device = await enrolled("session-1");
  expect(await logOut(changes)).toBe(400);
  expect(await isTrusted(device)).toBe(true);
});

test("a token of another subject, another session or another tenant's provider ends no device", async () => {
  const device = await enrolled("session-1");
  const theirs = new ProviderWorld(server, await server.newTenant(), hostile);
  const { backChannelLogoutUri } = await theirs.enabledProvider();
  expect(await logOut({}, backChannelLogoutUri)).toBe(200);
  expect(await logOut({ claims: { sub: "subject-2", sid: undefined } })).toBe(200);
  expect(await logOut({ claims: { sid: "session-9" } })).toBe(200);
  expect(await isTrusted(device)).toBe(true);
});

test("a session that the user begins again is not ended by the token of the former one", async () => {
  const device = await enrolled("session-1");
  const token = hostile.logoutToken({ claims: { sid: "session-1" } });
  expect((await post(provider.backChannelLogoutUri, { logout_token: token })).status).toBe(200);
  const again = await enrolled("session-3");
  expect((await post(provider.backChannelLogoutUri, { logout_token: token })).status).toBe(400);
  expect([await isTrusted(device), await isTrusted(again)]).toEqual([false, true]);
});
