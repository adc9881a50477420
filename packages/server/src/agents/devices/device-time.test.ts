import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { type ReplyBody, startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const hourMs = 3_600_000;
/** The tests advance the clock, and run due tasks by hand. */
const settings = {
  gatewayLinks: { watch: false, reconnectMs: 0, tickMs: hourMs, lifeMs: 24 * hourMs },
  deviceLinks: { tickMs: hourMs, lifeMs: 24 * hourMs },
};
const block = "10.20.30.0/24";
/** A separate database: the advanced clock would make gateways of other tests silent. */
let own: TestDatabase;
let server: TestServer;
let clock: TestClock;
let url: string;
let tenant: TestTenant;
let device: SimulatedDevice;
let gateways: readonly [SimulatedGateway, SimulatedGateway];
let ids: readonly [string, string];
let resourceId: string;
let rule: string | undefined;

beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());
beforeEach(async () => {
  clock = new TestClock();
  server = await startTestServer({ clock, connection: own.connection, settings });
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  tenant = await server.newTenant();
  const made = [await newGateway("198.51.100.1"), await newGateway("198.51.100.2")] as const;
  ids = [made[0].id, made[1].id];
  gateways = [made[0].gateway, made[1].gateway];
  const resource = await made201(
    tenant.client.post("/tenants/resources", {
      name: unique("Resource"),
      type: "PRIVATE",
      addresses: [{ address: block, protocols: [] }],
    }),
  );
  resourceId = resource.id;
  await tenant.client.must.post(`/tenants/resources/${resourceId}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: ids,
  });
  rule = undefined;
  device = await newDevice();
});
afterEach(async () => {
  device.cut();
  for (const gateway of gateways) gateway.cut();
  await server.close();
});

async function made201(reply: ReturnType<TestTenant["client"]["post"]>): Promise<ReplyBody> {
  const { status, body, text } = await reply;
  expect(status, text).toBe(201);
  return body;
}

async function newGateway(endpoint: string) {
  const body = { name: unique("Gateway"), wireguardPort: "51820", endpoint };
  const { id, token } = await made201(tenant.client.post("/tenants/gateways", body));
  const gateway = new SimulatedGateway({ url, gatewayId: id, token, now: () => clock.now().getTime() });
  await gateway.connect();
  await until("it is ONLINE", statusIs(id, "ONLINE"));
  return { id: id as string, gateway };
}

async function newDevice(): Promise<SimulatedDevice> {
  const key = publicKey();
  const { id: userId } = await made201(tenant.client.post("/tenants/users", { email: uniqueEmail() }));
  const body = { name: unique("Laptop"), userId, hardwareId: "C02XK0AAJGH5", publicKey: key };
  const { id } = await made201(tenant.client.post("/tenants/devices", body));
  const { token } = (await tenant.client.post(`/tenants/devices/${id}/rotate-token`)).body;
  return new SimulatedDevice({ url, deviceId: id, token, publicKey: key, now: () => clock.now().getTime() });
}

const statusIs = (id: string, status: string) => async () =>
  (await tenant.client.get(`/tenants/gateways/${id}`)).body.status === status;

/** Connects the device, with a route through the first gateway for as long as the rule permits. */
async function connected(): Promise<void> {
  await made201(
    tenant.client.post("/tenants/policies", {
      name: unique("Policy"),
      type: "PRIVATE",
      action: true,
      allUsers: true,
      resources: [resourceId],
      ...(rule === undefined ? {} : { rule }),
    }),
  );
  expect(await device.connect()).toBe(101);
  await until("it has its route", () => device.routeTo(block) === ids[0]);
}

async function tick(): Promise<void> {
  await server.tasks.get("device-links")?.runNow();
}

async function beat(end: SimulatedDevice | SimulatedGateway): Promise<void> {
  const { length } = end.answers;
  end.heartbeat();
  await until("it is answered", () => end.answers.length > length);
}

test("devices that nothing else concerns learn that a relay became silent: it moves to the end", async () => {
  const third = await newGateway("198.51.100.3");
  const { client } = tenant;
  const settings = await client.put(`/tenants/gateways/${ids[0]}/settings`, { relayPort: "51901" });
  expect(settings.status, settings.text).toBe(200);
  for (const id of [ids[1], third.id]) await client.must.post(`/tenants/gateways/${id}/enable-relay`);
  await connected();
  const relays = () => device.content?.gateways.find(({ gateway }) => gateway === ids[0])?.relays ?? [];
  await until("it knows both", () => relays().length === 2);
  const [first = "", second = ""] = relays();
  const [silent, heard] = first.startsWith("198.51.100.2:")
    ? [gateways[1], third.gateway]
    : [third.gateway, gateways[1]];
  for (let waited = 0; waited < 40_000; waited += 20_000) {
    clock.advance(20_000);
    await Promise.all([beat(device), beat(gateways[0]), beat(heard)]);
    await server.links.flush();
  }
  silent.cut();
  await server.links.detectSilence();
  await until("the other relay is first", () => relays().join() === [second, first].join());
  third.gateway.cut();
});

test("a silent gateway loses its devices to the next one, and gets them back when it is heard", async () => {
  await connected();
  for (let waited = 0; waited < 40_000; waited += 20_000) {
    clock.advance(20_000);
    await Promise.all([beat(device), beat(gateways[1])]);
    await server.links.flush();
  }
  await server.links.detectSilence();
  await until("its route is through the second gateway", () => device.routeTo(block) === ids[1]);
  await beat(gateways[0]);
  await server.links.flush();
  await until("its route is through the first gateway", () => device.routeTo(block) === ids[0]);
});

test("a route ends with its time window", async () => {
  const end = new Date(clock.now().getTime() + 20_000);
  const text = `now < timestamp("${end.toISOString()}")`;
  const body = { name: unique("Rule"), rule: text, hasTimeConstraint: true };
  ({ id: rule } = await made201(tenant.client.post("/tenants/admission-rules", body)));
  await connected();
  expect(end.getTime() - (device.content?.validUntil ?? 0)).toBeLessThanOrEqual(1);
  clock.advance(19_999);
  await tick();
  await beat(device);
  expect(device.routeTo(block)).toBe(ids[0]);
  clock.advance(1);
  await tick();
  await until("the route is gone", () => device.content?.gateways.length === 0);
});

describe("a configuration is renewed", () => {
  /** Connects again after some time, because heartbeats would be missed meanwhile. */
  async function comeBackAfter(ms: number): Promise<void> {
    device.cut();
    clock.advance(ms);
    await device.connect();
    await beat(device);
  }

  test("shortly before half of its validity period", async () => {
    await device.connect();
    await until("it has one", () => device.signed !== undefined);
    const { sent, signed } = device;
    expect(signed?.header.expiresAt).toBe((signed?.header.issuedAt ?? 0) + 24 * hourMs);
    await comeBackAfter(9 * hourMs);
    await tick();
    await beat(device);
    expect(device.sent).toBe(sent);
    await comeBackAfter(3 * hourMs);
    await until("it is renewed", () => device.sent === sent + 1);
    expect(device.signed?.content).toEqual(signed?.content);
    expect(device.signed?.header.expiresAt).toBe(clock.now().getTime() + 24 * hourMs);
  });

  test("on a connection that stays open", async () => {
    await connected();
    const { sent } = device;
    // Short periods, so that no heartbeat is missed.
    const brief = await startTestServer({
      clock,
      connection: own.connection,
      settings: { ...settings, deviceLinks: { tickMs: hourMs, lifeMs: 40_000 } },
    });
    device.cut();
    device.url = await brief.app.listen({ host: "127.0.0.1", port: 0 });
    await device.connect();
    await until("it has one that ends sooner", () => device.sent === sent + 1);
    clock.advance(15_000);
    await brief.tasks.get("device-links")?.runNow();
    await beat(device);
    expect(device.sent).toBe(sent + 1);
    clock.advance(5_000);
    await brief.tasks.get("device-links")?.runNow();
    await until("it is renewed", () => device.sent === sent + 2);
    await brief.close();
  });
});

test("a refused configuration is offered again after 30 seconds, then after twice as long", async () => {
  device.verdict = () => "not_applied";
  await device.connect();
  await until("it was sent something", () => device.sent === 1);
  // The server handles messages in order: the refusal comes before the heartbeat.
  await beat(device);
  for (const [waitMs, sent] of [
    [29_999, 1],
    [1, 2],
    [30_000, 2],
    [30_000, 3],
  ] as const) {
    clock.advance(waitMs);
    await beat(device);
    await tick();
    await until("it was offered as often as it should be", () => device.sent === sent);
    await beat(device);
    expect(device.sent).toBe(sent);
  }
  expect(device.isOpen).toBe(true);
});

describe("the connection of a device ends", () => {
  test("if it does not answer a configuration for a minute", async () => {
    device.verdict = () => undefined;
    await device.connect();
    await until("it was sent something", () => device.sent === 1);
    for (let waited = 0; waited < 60_000; waited += 20_000) {
      clock.advance(20_000);
      await beat(device);
      await tick();
    }
    expect(device.isOpen).toBe(true);
    clock.advance(1);
    await tick();
    await until("it receives a goodbye", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual([expect.objectContaining({ reason: "protocol" })]);
  });

  test("if it is silent for 30 seconds", async () => {
    await connected();
    // The server handles messages in order: the acceptance comes before the heartbeat.
    await beat(device);
    clock.advance(30_000);
    await tick();
    expect(device.isOpen).toBe(true);
    clock.advance(1);
    await tick();
    await until("it is cut", () => device.closes.length === 1);
    expect(server.deviceLinks.state.connections).toBe(0);
    await device.connect();
    await beat(device);
  });

  test("if it sends no hello for ten seconds", async () => {
    await device.open();
    clock.advance(10_001);
    await tick();
    await until("it is closed", () => device.closes.length === 1);
  });
});

test("after an outage of the control plane, no device loses its gateways", async () => {
  await connected();
  await server.links.flush();
  const { reconnectMs: _, ...links } = settings.gatewayLinks;
  const returning = { ...settings, gatewayLinks: links };
  const told: (string | undefined)[] = [];
  for (let outage = 1; outage <= 20; outage += 1) {
    device.cut();
    clock.advance(outage * 31_000);
    const returned = await startTestServer({ clock, connection: own.connection, settings: returning });
    await returned.links.detectSilence();
    device.url = await returned.listen();
    const { sent } = device;
    // The device connects before its gateways.
    await device.connect({ uses: null });
    await until("it is sent its routes", () => device.sent > sent);
    told.push(device.routeTo(block));
    for (let waited = 0; waited < 40_000; waited += 8_000) {
      clock.advance(8_000);
      await returned.links.detectSilence();
      await beat(device);
      told.push(device.routeTo(block));
    }
    if (outage === 20) {
      clock.advance(8_000);
      await returned.links.detectSilence();
      await until("gateways that do not return are gone", () => device.routeTo(block) === undefined);
    }
    await returned.close();
  }
  expect(new Set(told)).toEqual(new Set([ids[0]]));
});
