/** Sessions of devices, from the sign-in to the gateways (docs/decisions/0125-device-sessions.md). */
import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { type ReplyBody, startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { nameProvider } from "./testing/device-sessions.queries.ts";

const hourMs = 3_600_000;
const lifetimeMs = 8 * hourMs;
/** The tests advance the clock, and run due tasks by hand. */
const settings = {
  gatewayLinks: { watch: false, reconnectMs: 0, tickMs: hourMs, lifeMs: 24 * hourMs },
  deviceLinks: { tickMs: hourMs, lifeMs: 24 * hourMs },
  rateLimits: { perMinute: 0, authFailures: 1_000, shared: false },
};
const block = "10.20.30.0/24";
/** A separate database: the advanced clock would make gateways of other tests silent. */
let own: TestDatabase;
let server: TestServer;
let clock: TestClock;
let url: string;
let tenant: TestTenant;
let resourceId: string;
let gateway: SimulatedGateway;
let gatewayId: string;
const opened: SimulatedDevice[] = [];

beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());
beforeEach(async () => {
  clock = new TestClock();
  server = await startTestServer({ clock, connection: own.connection, settings });
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  tenant = await server.newTenant();
  const made = await created("/tenants/gateways", { name: "Berlin", wireguardPort: "51820", endpoint: "198.51.100.1" });
  gatewayId = made.id;
  gateway = new SimulatedGateway({ url, gatewayId, token: made.token, now: () => clock.now().getTime() });
  // Gateways of version 1 do not know the ends of sessions.
  gateway.useKey(new SimulatedKey());
  await gateway.connect();
  await until("the gateway is ONLINE", async () => (await read(`/tenants/gateways/${gatewayId}`)).status === "ONLINE");
  const addresses = [{ address: block, protocols: [] }];
  resourceId = (await created("/tenants/resources", { name: "Git", type: "PRIVATE", addresses })).id;
  const loadBalancing = { loadBalancingMode: "MANUAL", gateways: [gatewayId] };
  await tenant.client.must.post(`/tenants/resources/${resourceId}/loadBalancing`, loadBalancing);
  const policy = { name: "Everyone", type: "PRIVATE", action: true, allUsers: true, resources: [resourceId] };
  await created("/tenants/policies", policy);
});
afterEach(async () => {
  for (const device of opened.splice(0)) device.cut();
  gateway.cut();
  await server.close();
});

async function created(path: string, body: object): Promise<ReplyBody> {
  const reply = await tenant.client.post(path, body);
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

const read = async (path: string) => (await tenant.client.must.get(path)).body;
const limitSessions = () => tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: lifetimeMs / 1000 });
const at = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString();

async function program(path: string, form: Readonly<Record<string, string>>) {
  const response = await server.app.inject({
    method: "POST",
    url: path,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: new URLSearchParams({ client_id: "gatehouse-device", ...form }).toString(),
  });
  return { status: response.statusCode, body: response.json() };
}

const askFor = (form: Readonly<Record<string, string>>) => program("/oauth/device_authorization", form);
const poll = (deviceCode: string) =>
  program("/oauth/token", { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code: deviceCode });

async function newPerson() {
  // The role's change makes every model read the user again.
  const user = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
  const signIn = async (authTime = clock.now()) =>
    personClient(server, await signInAs(server, tenant.id, user.id, { authTime }));
  return { user, signIn };
}
type Person = Awaited<ReturnType<typeof newPerson>>;

/** A person's device, enrolled by signing in. */
async function enrolled(person: Person) {
  const key = publicKey();
  const { body: codes } = await askFor({ machine: "Laptop", hardware_id: unique("Serial"), public_key: key });
  const answer = await (await person.signIn()).post("/console/device-authorization", {
    code: codes.user_code,
    approve: true,
  });
  expect(answer.status, answer.text).toBe(200);
  const { status, body } = await poll(codes.device_code);
  expect(status, JSON.stringify(body)).toBe(200);
  return { id: String(body.device.id), token: String(body.access_token), key, answer: body };
}
type Enrolled = Awaited<ReturnType<typeof enrolled>>;

async function signInOn({ token }: Enrolled, person: Person) {
  const { body: codes } = await askFor({ device_token: token });
  const browser = await person.signIn();
  const shown = await browser.post("/console/device-authorization/description", { code: codes.user_code });
  const answer = await browser.post("/console/device-authorization", { code: codes.user_code, approve: true });
  return { shown, answer, issued: () => poll(codes.device_code) };
}

const peers = () => Array.from(gateway.content?.peers.entries() ?? [], ([, peer]) => peer);
const peerOf = ({ key }: Enrolled) => peers().find(({ publicKey: own }) => own === key);
const untilOf = (device: Enrolled) => {
  const peer = peerOf(device);
  return peer?.kind === "device" ? peer.until : undefined;
};

/** Silent agents are disconnected. */
async function beat(end: SimulatedDevice | SimulatedGateway): Promise<void> {
  const { length } = end.answers;
  end.heartbeat();
  await until("the heartbeat is answered", () => end.answers.length > length);
}

async function decisionFor({ id }: Enrolled) {
  const { body } = await tenant.client.must.post("/access/v1/evaluation", {
    subject: { type: "device", id },
    action: { name: "connect" },
    resource: { type: "resource", id: resourceId },
  });
  return body;
}

describe("without a lifetime", () => {
  test("devices are trusted as before, and show who signed in", async () => {
    const person = await newPerson();
    const device = await enrolled(person);
    await until("the device is a peer", () => peerOf(device) !== undefined);
    expect(untilOf(device)).toBeUndefined();
    const signedInAt = clock.now().toISOString();
    expect((await read(`/tenants/devices/${device.id}`)).session).toEqual({
      signedInAt,
      authenticatedAt: signedInAt,
      methods: ["hwk", "user"],
    });
    expect(device.answer.device).not.toHaveProperty("session_ends_at");
    await tenant.client.must.delete(`/tenants/users/${person.user.id}/sessions`);
    expect((await read(`/tenants/devices/${device.id}`)).session).toMatchObject({ ended: true });
    clock.advance(400 * 24 * hourMs);
    expect(await decisionFor(device)).toMatchObject({ decision: true });
  });
});

describe("with a lifetime", () => {
  test("the end of the session is in the gateway's configuration, and the device is gone after it", async () => {
    await limitSessions();
    const device = await enrolled(await newPerson());
    const ends = clock.now().getTime() + lifetimeMs;
    await until("the gateway knows the end", () => untilOf(device) === Date.parse(at(ends)));
    expect((await read(`/tenants/devices/${device.id}`)).session.endsAt).toBe(at(ends));
    expect(device.answer.device.session_ends_at).toBe(at(ends));
    const agent = new SimulatedDevice({
      url,
      deviceId: device.id,
      token: device.token,
      publicKey: device.key,
      now: () => clock.now().getTime(),
    });
    opened.push(agent);
    expect(await agent.connect()).toBe(101);
    await until("the device has its route", () => agent.routeTo(block) === gatewayId);
    expect((await decisionFor(device)).context.validUntil).toBe(at(ends));

    clock.advance(lifetimeMs);
    expect(await decisionFor(device)).toMatchObject({ decision: false, context: { reason: "device_session_ended" } });
    await Promise.all([beat(gateway), beat(agent)]);
    await server.tasks.get("gateway-links")?.runNow();
    await server.tasks.get("device-links")?.runNow();
    await until("the device is not a peer", () => peerOf(device) === undefined);
    await until("the device has no route", () => agent.routeTo(block) === undefined);
  });

  test("the user signs in again on the device, and nobody else can", async () => {
    await limitSessions();
    const [ann, bob] = [await newPerson(), await newPerson()];
    const device = await enrolled(ann);
    clock.advance(lifetimeMs);
    const his = await signInOn(device, bob);
    expect([his.answer.status, his.answer.body.code]).toEqual([404, "not_found"]);
    expect((await decisionFor(device)).decision).toBe(false);
    const hers = await signInOn(device, ann);
    expect(hers.shown.body).toMatchObject({ machine: "Laptop", device: { isEnrolled: true } });
    const hash = createHash("sha256").update(Buffer.from(device.key, "base64")).digest("hex").toUpperCase();
    expect(hers.shown.body.device.keyFingerprint.replaceAll("-", "")).toBe(hash.slice(0, 20));
    expect(hers.answer.status).toBe(200);
    const ends = at(clock.now().getTime() + lifetimeMs);
    const { body } = await hers.issued();
    expect(body).toMatchObject({ access_token: "unchanged", device: { id: device.id, session_ends_at: ends } });
    expect((await hers.issued()).body.error).toBe("invalid_grant");
    expect(await decisionFor(device)).toMatchObject({ decision: true });
    await until("the gateway knows the new end", () => untilOf(device) === Date.parse(ends));
  });

  test("an old authentication begins no session", async () => {
    const person = await newPerson();
    const device = await enrolled(person);
    const { body: codes } = await askFor({ device_token: device.token });
    const old = await person.signIn(new Date(clock.now().getTime() - hourMs));
    const answer = await old.post("/console/device-authorization", { code: codes.user_code, approve: true });
    expect([answer.status, answer.body.code]).toEqual([401, "recent_authentication_required"]);
  });

  test("a request is about the device whose token it presents, and only its tenant sees it", async () => {
    const device = await enrolled(await newPerson());
    expect((await askFor({ device_token: "gatehouse_device_unknown" })).body.error).toBe("invalid_grant");
    const { body: codes } = await askFor({ device_token: device.token, machine: "Another", public_key: publicKey() });
    const elsewhere = await server.newTenant();
    const stranger = await activeUser(server, elsewhere, uniqueEmail());
    const browser = personClient(server, await signInAs(server, elsewhere.id, stranger.id));
    for (const path of ["/console/device-authorization/description", "/console/device-authorization"]) {
      const body = path.endsWith("description") ? { code: codes.user_code } : { code: codes.user_code, approve: true };
      expect((await browser.post(path, body)).status).toBe(404);
    }
  });

  test.each<[string, (person: Person, device: Enrolled) => Promise<unknown>]>([
    ["sign-out everywhere", ({ user }) => tenant.client.must.delete(`/tenants/users/${user.id}/sessions`)],
    ["a reset of passkeys", ({ user }) => tenant.client.must.delete(`/tenants/users/${user.id}/passkeys`)],
    [
      "a deactivation of the user, even after it is reverted",
      async ({ user }) => {
        await tenant.client.must.patch(`/tenants/users/${user.id}/deactivate`);
        await tenant.client.must.post(`/tenants/users/${user.id}/reactivate`);
      },
    ],
    [
      "a deactivation of the device, even after it is reverted",
      async (_person, { id }) => {
        await tenant.client.must.patch(`/tenants/devices/${id}/deactivate`);
        await tenant.client.must.post(`/tenants/devices/${id}/reactivate`);
      },
    ],
  ])("%s ends the session at once", async (_what, end) => {
    await limitSessions();
    const person = await newPerson();
    const device = await enrolled(person);
    await until("the device is a peer", () => peerOf(device) !== undefined);
    clock.advance(60_000);
    await end(person, device);
    expect(await decisionFor(device)).toMatchObject({ decision: false, context: { reason: "device_session_ended" } });
    await until("the device is not a peer", () => peerOf(device) === undefined);
    const { session } = await read(`/tenants/devices/${device.id}`);
    expect(session).toMatchObject({ ended: true, endsAt: at(clock.now().getTime()) });
    expect((await signInOn(device, person)).answer.status).toBe(200);
    await until("the device is a peer again", () => peerOf(device) !== undefined);
    expect((await read(`/tenants/devices/${device.id}`)).session).not.toHaveProperty("ended");
  });

  test("a device that was enrolled with an API key is trusted for one lifetime, and its sessions can be ended", async () => {
    const person = await newPerson();
    const body = { name: "Server", userId: person.user.id, hardwareId: "SERIAL-1", publicKey: publicKey() };
    const [first, second] = [
      await created("/tenants/devices", body),
      await created("/tenants/devices", { ...body, publicKey: publicKey() }),
    ];
    expect(first).not.toHaveProperty("session");
    clock.advance(hourMs);
    await limitSessions();
    const endsAt = at(clock.now().getTime() + lifetimeMs);
    expect((await read(`/tenants/devices/${first.id}`)).session).toEqual({ methods: [], endsAt });
    clock.advance(hourMs);
    // A shorter lifetime counts from the same moment.
    await tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: 7_200 });
    expect((await read(`/tenants/devices/${first.id}`)).session.endsAt).toBe(at(clock.now().getTime() + hourMs));
    await tenant.client.must.delete(`/tenants/users/${person.user.id}/sessions`);
    for (const { id } of [first, second]) {
      expect((await read(`/tenants/devices/${id}`)).session).toMatchObject({ methods: [], ended: true });
    }
    // A lifetime that is set again gives devices a new period, except for those whose sessions were ended.
    const third = await created("/tenants/devices", { ...body, publicKey: publicKey() });
    await tenant.client.must.put("/tenants/settings", { deviceSessionLifetime: null });
    clock.advance(1_000);
    await limitSessions();
    expect((await read(`/tenants/devices/${first.id}`)).session).toMatchObject({ ended: true });
    const { session } = await read(`/tenants/devices/${third.id}`);
    expect(session).toEqual({ methods: [], endsAt: at(clock.now().getTime() + lifetimeMs) });
  });

  test("a deactivated device cannot be signed in on, so that its user signs in after the reactivation", async () => {
    await limitSessions();
    const person = await newPerson();
    const device = await enrolled(person);
    await tenant.client.must.patch(`/tenants/devices/${device.id}/deactivate`);
    const { answer } = await signInOn(device, person);
    expect([answer.status, answer.body.detail]).toEqual([404, expect.stringContaining("deactivated")]);
    await tenant.client.must.post(`/tenants/devices/${device.id}/reactivate`);
    expect((await decisionFor(device)).context.reason).toBe("device_session_ended");
  });

  test.each(["by itself", "by a configuration"])("the deletion of a provider %s ends its sessions", async (how) => {
    const provider = await created("/tenants/identity-providers", {
      name: unique("Provider"),
      issuer: "https://login.example.com",
      clientId: "gatehouse",
    });
    await limitSessions();
    const [person, other] = [await newPerson(), await newPerson()];
    const [device, unrelated] = [await enrolled(person), await enrolled(other)];
    await nameProvider(server.database, tenant.id, device.id, provider.id);
    if (how === "by itself") await tenant.client.must.delete(`/tenants/identity-providers/${provider.id}`);
    else await tenant.client.must.post("/tenants/configuration/apply", { version: 1, identityProviders: [] });
    expect(await decisionFor(device)).toMatchObject({ decision: false, context: { reason: "device_session_ended" } });
    expect(await decisionFor(unrelated)).toMatchObject({ decision: true });
    await until("the device is not a peer", () => peerOf(device) === undefined);
  });
});
