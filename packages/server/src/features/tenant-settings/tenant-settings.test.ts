import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BrowserPage, enrolmentLinkFor } from "../../testing/browser-page.ts";
import { publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { insertEnabledProvider, insertRecoveryCode } from "../../testing/sign-in-rows.queries.ts";
import { activeUser, ownerOf, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { VirtualPasskey } from "../../testing/virtual-passkey.ts";

const path = "/tenants/settings";
const dayS = 86_400;
const defaults = {
  configurationLifetime: dayS,
  sessionLifetime: 43_200,
  sessionIdleTime: 3_600,
  singleSignOnOnly: false,
  deviceApproval: "automatic",
  deviceSessionLifetime: null,
};
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

test("a new tenant has the defaults", async () => {
  const { status, body, headers } = await (await server.newTenant()).client.get(path);
  expect([status, body, headers.etag]).toEqual([200, defaults, '"1"']);
});

test("a change has a version and an audit entry, and none if nothing changes", async () => {
  const { client } = tenant;
  const { headers } = await client.must.get(path);
  const changed = await client.put(path, { configurationLifetime: 3_600 }, { "if-match": headers.etag ?? "" });
  expect([changed.status, changed.body]).toEqual([200, { ...defaults, configurationLifetime: 3_600 }]);
  const stale = await client.put(path, { configurationLifetime: 7_200 }, { "if-match": headers.etag ?? "" });
  expect([stale.status, stale.body.code]).toEqual([412, "precondition_failed"]);
  for (const body of [{}, { configurationLifetime: 3_600 }]) {
    const same = await client.put(path, body);
    expect([same.status, same.headers.etag]).toEqual([200, changed.headers.etag]);
  }
  const { body: events } = await client.must.get("/tenants/events?filter[operation]=replaceTenantSettings");
  expect(events.data).toEqual([
    expect.objectContaining({
      target: { type: "tenant-settings", id: tenant.id, name: "settings" },
      before: defaults,
      after: { ...defaults, configurationLifetime: 3_600 },
    }),
  ]);
  const reverted = await client.must.post(`/tenants/events/${events.data[0].id}/revert`);
  expect(reverted.body.cannot).toEqual([]);
  expect((await client.must.get(path)).body).toEqual(defaults);
});

test("a change has an effect, a preview, and waits for gateways", async () => {
  const { client } = await server.newTenant();
  const body = { deviceSessionLifetime: 28_800 };
  const changes = [{ method: "PUT", path, body }];
  expect((await client.must.post("/tenants/policies/preview", { changes })).body).toMatchObject({
    gained: { pairs: 0 },
    lost: { pairs: 0 },
  });
  expect((await client.must.get(path)).body).toEqual(defaults);
  const { headers } = await client.must.put(`${path}?wait=applied&timeout=5`, body);
  expect(headers["gatehouse-enforced"]).toMatch(/^applied;generation=\d+;gateways=0;missing=0$/);
  const { body: effect } = await client.must.get(`/tenants/events/${headers["gatehouse-event"]}/effect`);
  expect(effect).toMatchObject({ event: headers["gatehouse-event"], lost: { pairs: 0 } });
});

test.each([599, 604_801, 3_600.5, "3600", null])("a lifetime of %s is invalid", async (configurationLifetime) => {
  expect((await tenant.client.put(path, { configurationLifetime })).status).toBe(400);
});

test.each(["sessionLifetime", "sessionIdleTime"])("%s has limits", async (field) => {
  for (const [value, status] of [
    [299, 400],
    [300, 200],
    [2_592_000, 200],
    [2_592_001, 400],
  ] as const) {
    expect((await tenant.client.put(path, { [field]: value })).status).toBe(status);
  }
});

test("lifetimes apply to new sessions, and shorter ones to existing sessions", async () => {
  const { id, client } = await server.newTenant();
  const owner = await ownerOf({ client });
  const sessionsOf = async () =>
    (await client.must.get("/tenants/sessions?sort=id")).body.data.map(
      ({ createdAt, expiresAt, idleSeconds }: { createdAt: string; expiresAt: string; idleSeconds: number }) => [
        (Date.parse(expiresAt) - Date.parse(createdAt)) / 1000,
        idleSeconds,
      ],
    );
  await signInAs(server, id, owner.id);
  await client.must.put(path, { sessionLifetime: 90_000, sessionIdleTime: 7_200 });
  await signInAs(server, id, owner.id);
  expect(await sessionsOf()).toEqual([
    [43_200, 3_600],
    [90_000, 7_200],
  ]);
  await client.must.put(path, { sessionLifetime: 600, sessionIdleTime: 300 });
  expect(await sessionsOf()).toEqual([
    [600, 300],
    [600, 300],
  ]);
});

describe("single sign-on only", () => {
  test("requires an enabled provider, and a way in for the owner", async () => {
    const { id, client } = await server.newTenant();
    const owner = await ownerOf({ client });
    const ask = async () => {
      const { status, body } = await client.put(path, { singleSignOnOnly: true });
      return [status, body.detail];
    };
    expect(await ask()).toEqual([409, "No identity provider is enabled."]);
    await insertEnabledProvider(server.database, id);
    const locked = "The owner has neither a recovery code nor an account at an enabled identity provider.";
    expect(await ask()).toEqual([409, locked]);
    const document = { version: 1, settings: { singleSignOnOnly: true } };
    expect((await client.post("/tenants/configuration/apply", document)).body.code).toBe("last_way_in");
    await insertRecoveryCode(server.database, id, owner.id);
    expect((await ask())[0]).toBe(200);
    // Changes of other settings are not refused later.
    expect((await client.put(path, { sessionLifetime: 600 })).status).toBe(200);
  });

  test("refuses passkeys and enrolment links, and accepts the recovery code", async () => {
    const { id, client } = await server.newTenant();
    const user = await activeUser(server, { id, client }, uniqueEmail());
    const [page, passkey] = [new BrowserPage(server), new VirtualPasskey("http://localhost:8080")];
    expect((await page.enrol(await enrolmentLinkFor(server, id, user), passkey)).status).toBe(201);
    const { body: renewed } = await page.post("/console/account/recovery-code");
    const waiting = await enrolmentLinkFor(server, id, user);
    await insertEnabledProvider(server.database, id);
    await insertRecoveryCode(server.database, id, (await ownerOf({ client })).id);
    await client.must.put(path, { singleSignOnOnly: true });
    const links = `/tenants/users/${user.id}/enrolment-links`;
    expect((await client.post(links)).body.code).toBe("single_sign_on_only");
    expect((await new BrowserPage(server).enrol(waiting, new VirtualPasskey("http://localhost:8080"))).status).toBe(
      401,
    );
    expect((await new BrowserPage(server).signIn(passkey)).status).toBe(401);
    const code = renewed.recoveryCode;
    expect((await new BrowserPage(server).post("/console/recovery", { code })).status).toBe(201);
    const { body } = await client.must.get(`/tenants/sign-ins?filter[user.id]=${user.id}&limit=100`);
    const reasons = body.data.map(({ reason }: { reason?: string }) => reason);
    expect(reasons.filter((reason?: string) => reason === "the tenant accepts only single sign-on")).toHaveLength(2);
  });

  test("requires a recent authentication of people", async () => {
    const { id, client } = await server.newTenant();
    const owner = await ownerOf({ client });
    const hourAgo = new Date(server.runner.clock.now().getTime() - 3_600_000);
    const person = personClient(server, await signInAs(server, id, owner.id, { authTime: hourAgo }));
    const reply = await person.send("PUT", path, { singleSignOnOnly: true });
    expect([reply.status, reply.body.code]).toEqual([401, "recent_authentication_required"]);
  });
});

test("the configuration document has the settings, and default values can be omitted", async () => {
  const { client } = await server.newTenant();
  const document = () => client.must.get("/tenants/configuration");
  expect((await document()).body.settings).toEqual({});
  const settings = { configurationLifetime: 600 };
  const { body: plan } = await client.must.post("/tenants/configuration/plan", { version: 1, settings });
  const fields = [{ field: "configurationLifetime", before: dayS, after: 600 }];
  expect(plan.changes).toEqual([{ action: "update", kind: "tenant-settings", name: "settings", fields }]);
  await client.must.post("/tenants/configuration/apply", { version: 1, settings });
  expect((await document()).body.settings).toEqual(settings);
  await client.must.post("/tenants/configuration/apply", { version: 1, protocols: [] });
  expect((await client.must.get(path)).body).toEqual({ ...defaults, ...settings });
  await client.must.post("/tenants/configuration/apply", { version: 1, settings: {} });
  expect((await client.must.get(path)).body).toEqual(defaults);
  const { body: unchanged } = await client.must.post("/tenants/configuration/plan", (await document()).body);
  expect(unchanged.changes).toEqual([]);
  const reader = server.client(await tenant.keyWith("configuration:read", "groups:read"));
  expect((await reader.must.get("/tenants/configuration")).body.settings).toBeUndefined();
});

test("connected gateways and devices get configurations with the new lifetime, longer and shorter", async () => {
  const { client } = await server.newTenant();
  const url = await server.listen();
  const made = await client.must.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820" });
  const gateway = new SimulatedGateway({ url, gatewayId: made.body.id, token: made.body.token });
  const user = await client.must.post("/tenants/users", { email: uniqueEmail() });
  const key = publicKey();
  const enrolled = await client.must.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: user.body.id,
    hardwareId: unique("Hardware"),
    publicKey: key,
  });
  const deviceId: string = enrolled.body.id;
  const { token } = (await client.must.post(`/tenants/devices/${deviceId}/rotate-token`)).body;
  const device = new SimulatedDevice({ url, deviceId, token, publicKey: key });
  afterAll(() => {
    gateway.cut();
    device.cut();
  });
  expect([await gateway.connect(), await device.connect()]).toEqual([101, 101]);
  /** The validity periods in seconds. The content of gateways is renewed by time, so that it may be slightly older. */
  const lifetimes = () =>
    [gateway.envelope?.header, device.signed?.header].map((header) =>
      header === undefined ? 0 : Math.round((header.expiresAt - header.issuedAt) / 10_000) * 10,
    );
  await until("both have the default", () => lifetimes().every((seconds) => seconds === dayS));
  for (const configurationLifetime of [7 * dayS, 600]) {
    await client.must.put(path, { configurationLifetime });
    await until("both have the new lifetime", () => lifetimes().every((seconds) => seconds === configurationLifetime));
  }
  // The new lifetime alone does not send configurations again.
  gateway.cut();
  const wholes = gateway.seen;
  await gateway.connect();
  gateway.heartbeat();
  await until("the gateway is connected", () => gateway.answers.length > 0);
  expect({ ...gateway.seen, bytes: 0 }).toEqual({ ...wholes, bytes: 0 });
});
