/** Configurations after the server's clock was wrong, and was corrected. */
import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { created } from "../testing/access-network.ts";
import { publicKey, unique, uniqueEmail } from "../testing/operations/test-records.ts";
import { SimulatedDevice } from "../testing/simulated-device.ts";
import { SimulatedGateway } from "../testing/simulated-gateway.ts";
import { TestClock } from "../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";

const hourMs = 3_600_000;
const lifeMs = 24 * hourMs;
const block = "10.20.30.0/24";
/** The tests run due tasks by hand. */
const settings = {
  gatewayLinks: { watch: false, reconnectMs: 0, tickMs: hourMs, lifeMs },
  deviceLinks: { tickMs: hourMs, lifeMs },
};

/** A separate database: the wrong clock would make gateways of other tests silent. */
let own: TestDatabase;
let server: TestServer;
let clock: TestClock;
let url: string;
let tenant: TestTenant;
let opened: (SimulatedGateway | SimulatedDevice)[];

beforeAll(async () => {
  own = await createDatabase();
});
afterAll(() => own.drop());
beforeEach(async () => {
  clock = new TestClock();
  opened = [];
  server = await startTestServer({ clock, connection: own.connection, settings });
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  tenant = await server.newTenant();
});
afterEach(async () => {
  for (const agent of opened) agent.cut();
  await server.close();
});

const now = () => clock.now().getTime();

async function newGateway() {
  const body = { name: unique("Gateway"), wireguardPort: "51820", endpoint: "198.51.100.1" };
  const { id, token } = await created(tenant.client, "/tenants/gateways", body);
  const gateway = new SimulatedGateway({ url, gatewayId: id, token, now });
  opened.push(gateway);
  return { id: String(id), gateway };
}

async function newDevice(): Promise<SimulatedDevice> {
  const key = publicKey();
  const { id: userId } = await created(tenant.client, "/tenants/users", { email: uniqueEmail() });
  const body = { name: unique("Laptop"), userId, hardwareId: "SERIAL-1", publicKey: key };
  const { id } = await created(tenant.client, "/tenants/devices", body);
  const { token } = (await tenant.client.post(`/tenants/devices/${id}/rotate-token`)).body;
  const device = new SimulatedDevice({ url, deviceId: id, token, publicKey: key, now });
  opened.push(device);
  return device;
}

/** A policy that opens a resource through a gateway, if a rule is given only while it is met. */
async function openResource(gatewayId: string, rule?: string): Promise<void> {
  const { client } = tenant;
  const body = { name: unique("Resource"), type: "PRIVATE", addresses: [{ address: block, protocols: [] }] };
  const resource = await created(client, "/tenants/resources", body);
  await client.must.post(`/tenants/resources/${resource.id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [gatewayId],
  });
  const ruleBody = { name: unique("Rule"), rule, hasTimeConstraint: true };
  const made = rule === undefined ? undefined : await created(client, "/tenants/admission-rules", ruleBody);
  await created(client, "/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    allUsers: true,
    resources: [resource.id],
    ...(made === undefined ? {} : { rule: made.id }),
  });
}

async function tick(): Promise<void> {
  await server.tasks.get("gateway-links")?.runNow();
  await server.tasks.get("device-links")?.runNow();
}

/** Messages keep their order: everything before the answer has arrived. */
async function beat(agent: SimulatedGateway | SimulatedDevice): Promise<void> {
  const { length } = agent.answers;
  agent.heartbeat();
  await until("the heartbeat is answered", () => agent.answers.length > length);
}

const received = ({ seen }: SimulatedGateway) => seen.wholes + seen.differences;

describe("after the clock was an hour ahead", () => {
  test("gateways get a configuration with the corrected lifetime, and no further ones", async () => {
    clock.correct(hourMs);
    const both = [(await newGateway()).gateway, (await newGateway()).gateway] as const;
    const [first, second] = both;
    await first.connect();
    await until("it is configured", () => first.envelope?.header.expiresAt === now() + lifeMs);
    await beat(first);
    const before = received(first);
    clock.correct(-hourMs);
    await second.connect();
    await tick();
    await until("both lifetimes are corrected", () =>
      both.every(({ envelope }) => envelope?.header.expiresAt === now() + lifeMs),
    );
    for (let round = 0; round < 5; round += 1) {
      await tick();
      for (const gateway of both) await beat(gateway);
    }
    expect(received(first)).toBe(before + 1);
    // The second one may connect before the content is computed again.
    expect(received(second)).toBeLessThanOrEqual(2);
    expect(both.map(({ isOpen }) => isOpen)).toEqual([true, true]);
  });

  test("a device gets one configuration more, which does not expire late", async () => {
    clock.correct(hourMs);
    const { id, gateway } = await newGateway();
    await gateway.connect();
    await openResource(id);
    const device = await newDevice();
    await device.connect();
    await until("it has its route", () => device.routeTo(block) === id);
    await beat(device);
    const { sent } = device;
    clock.correct(-hourMs);
    for (let round = 0; round < 5; round += 1) {
      await tick();
      await beat(device);
    }
    expect(device.signed?.header.expiresAt).toBe(now() + lifeMs);
    expect(device.sent).toBe(sent + 1);
    expect(device.routeTo(block)).toBe(id);
  });
});

test("agents whose configurations expired meanwhile get later ones after the clock was ahead", async () => {
  clock.correct(hourMs);
  const { gateway } = await newGateway();
  const device = await newDevice();
  const connected = async () => {
    await gateway.connect();
    await device.connect();
    const isRight = (expiresAt: number | undefined) => expiresAt === now() + lifeMs;
    await until("both are configured", () =>
      [gateway.envelope, device.signed].every((signed) => isRight(signed?.header.expiresAt)),
    );
    gateway.cut();
    device.cut();
  };
  await connected();
  clock.correct(-hourMs);
  // These have the generation after that of the tenant.
  await connected();
  clock.advance(lifeMs + hourMs);
  await connected();
});

test("time windows and routes follow the corrected clock at once", async () => {
  const [opens, closes] = [now() + 2 * hourMs, now() + 6 * hourMs];
  const timestamp = (at: number) => `timestamp("${new Date(at).toISOString()}")`;
  clock.correct(3 * hourMs);
  const { id, gateway } = await newGateway();
  await gateway.connect();
  await openResource(id, `now >= ${timestamp(opens)} && now < ${timestamp(closes)}`);
  const device = await newDevice();
  await device.connect();
  const has = (windows: unknown) => {
    const content = gateway.content === undefined ? undefined : contentOf(gateway.content);
    return JSON.stringify(content?.resources).includes(JSON.stringify(windows));
  };
  await until("access is open", () => has([[null, closes]]) && device.routeTo(block) === id);
  clock.correct(-3 * hourMs);
  await tick();
  await until("access begins later", () => has([[opens, closes]]) && !has([[null, closes]]));
  await until("the route is gone", () => device.content?.gateways.length === 0);
  clock.correct(2 * hourMs);
  await tick();
  await until("the route is back", () => device.routeTo(block) === id);
});

test("a clock that is set forward ends no links", async () => {
  const { id, gateway } = await newGateway();
  await gateway.connect();
  await until("it is configured", () => gateway.envelope !== undefined);
  // The gateway has a configuration that it has not acknowledged.
  gateway.verdict = () => undefined;
  const { seen } = gateway;
  await openResource(id);
  await until("it is sent another configuration", () => gateway.seen !== seen);
  clock.correct(hourMs);
  await tick();
  await beat(gateway);
  expect([gateway.goodbyes, gateway.closes]).toEqual([[], []]);
});
