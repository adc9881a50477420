import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeId, publicKey, unique } from "../../testing/operations/test-records.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const clock = new TestClock();
/** The first and the second believe a proxy on this machine, the third believes nobody. */
let servers: readonly TestServer[];
let urls: readonly string[];
let tenant: TestTenant;
let client: TestClient;
const opened: { cut(): void }[] = [];
const block = "10.20.30.0/24";

beforeAll(async () => {
  const trusting = { clock, settings: { trustedProxies: ["127.0.0.0/8"] } };
  servers = await Promise.all([startTestServer(trusting), startTestServer(trusting), startTestServer({ clock })]);
  urls = await Promise.all(servers.map(({ app }) => app.listen({ host: "127.0.0.1", port: 0 })));
});
afterAll(() => Promise.all(servers.map((server) => server.close())));
beforeEach(async () => {
  const [server] = servers;
  if (server === undefined) throw new Error("no server");
  tenant = await server.newTenant();
  ({ client } = tenant);
});
afterEach(() => {
  for (const end of opened.splice(0)) end.cut();
});

function urlOf(replica: number): string {
  return urls[replica] ?? "";
}

/** A gateway at the second replica, and a way through it that is open only from some addresses. */
async function openWay(sourceIps: readonly string[]) {
  const { body: made } = await client.post("/tenants/gateways", {
    name: unique("Gateway"),
    wireguardPort: "51820",
    endpoint: "198.51.100.1",
  });
  const gateway = new SimulatedGateway({
    url: urlOf(1),
    gatewayId: made.id,
    token: made.token,
    now: () => clock.now().getTime(),
  });
  opened.push(gateway);
  await gateway.connect();
  await until("it is ONLINE", async () => (await client.get(`/tenants/gateways/${made.id}`)).body.status === "ONLINE");
  const resource = await client.post("/tenants/resources", {
    name: unique("Resource"),
    type: "PRIVATE",
    addresses: [{ address: block, protocols: [] }],
  });
  expect(resource.status, resource.text).toBe(201);
  const balanced = await client.post(`/tenants/resources/${resource.body.id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [made.id],
  });
  expect(balanced.status, balanced.text).toBe(204);
  const policy = await client.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    allUsers: true,
    resources: [resource.body.id],
    sourceIps,
  });
  expect(policy.status, policy.text).toBe(201);
  return { id: made.id as string, gateway };
}

async function newDevice(url = urlOf(0)) {
  const key = publicKey();
  const made = await client.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: await makeId("user", client),
    hardwareId: "C02XK0AAJGH5",
    publicKey: key,
  });
  expect(made.status, made.text).toBe(201);
  const { id } = made.body;
  const { token } = (await client.post(`/tenants/devices/${id}/rotate-token`)).body;
  const device = new SimulatedDevice({
    url,
    deviceId: id,
    token,
    publicKey: key,
    now: () => clock.now().getTime(),
  });
  opened.push(device);
  return { id: id as string, key, device };
}

/** The device's link comes from an address, as the proxy before the replica says. */
async function connectFrom(device: SimulatedDevice, address: string): Promise<void> {
  device.cut();
  clock.advance(1_000);
  expect(await device.connect({}, { "x-forwarded-for": address })).toBe(101);
}

function peersIn(gateway: SimulatedGateway) {
  return gateway.content === undefined ? {} : contentOf(gateway.content).peers;
}

function peersOf(gateway: SimulatedGateway): readonly string[] {
  return Object.values(peersIn(gateway)).map(({ publicKey: key }) => key);
}

function peerOf(gateway: SimulatedGateway): string {
  return Object.keys(peersIn(gateway))[0] ?? "";
}

function hasWay({ device }: { device: SimulatedDevice }, gatewayId: string): boolean {
  return device.wayTo(block) === gatewayId;
}

describe.each([
  ["IPv4", ["192.0.2.0/24"], "192.0.2.7", "198.51.100.9"],
  ["IPv6", ["2001:db8:1::/48"], "2001:db8:1::7", "2001:db8:2::7"],
  ["IPv4 written as IPv6", ["192.0.2.0/24"], "::ffff:192.0.2.7", "::ffff:198.51.100.9"],
])("%s: a policy asks for source addresses", (_, sourceIps, inside, outside) => {
  test("a device that no gateway has met is let in, and shut out, by where its link comes from", async () => {
    const { id, gateway } = await openWay(sourceIps);
    const made = await newDevice();
    const before = await audited();
    await connectFrom(made.device, inside);
    await until("it is a peer at the other replica's gateway", () => peersOf(gateway).includes(made.key));
    await until("it has its way", () => hasWay(made, id));
    expect((await client.get(`/tenants/devices/${made.id}/configuration`)).body).toEqual(made.device.content);
    await connectFrom(made.device, outside);
    await until("it is no peer", () => peersOf(gateway).length === 0);
    await until("its way is gone", () => made.device.content?.gateways.length === 0);
    expect(await audited()).toBe(before);
  });
});

test("what a device writes into X-Forwarded-For counts for nothing without a trusted proxy", async () => {
  const { gateway } = await openWay(["192.0.2.0/24", "127.0.0.0/8"]);
  const spoofing = await newDevice(urlOf(2));
  const honest = await newDevice();
  await connectFrom(spoofing.device, "192.0.2.7");
  await until("it has a configuration", () => spoofing.device.content !== undefined);
  await servers[2]?.deviceSources.flush();
  // Later than the other one, and known to the gateway: so is all that the first brought.
  await connectFrom(honest.device, "192.0.2.8");
  await until("the honest one is a peer", () => peersOf(gateway).includes(honest.key));
  expect(peersOf(gateway)).toEqual([honest.key]);
  expect(spoofing.device.content?.gateways).toEqual([]);
});

describe("of a gateway and the device's own link", () => {
  test("the one that saw it last counts, on every replica", async () => {
    const { id, gateway } = await openWay(["192.0.2.0/24"]);
    const made = await newDevice();
    await connectFrom(made.device, "192.0.2.7");
    await until("it has its way", () => hasWay(made, id));
    await until("it is a peer", () => peersOf(gateway).length === 1);
    const peer = peerOf(gateway);
    const report = (lastHandshake: number) =>
      gateway.heartbeat({
        peers: [{ peer, lastHandshake, address: "198.51.100.9", receivedBytes: 1, sentBytes: 1 }],
      });
    report(clock.now().getTime() - 500_000);
    await until("it is answered", () => gateway.answers.length === 1);
    await servers[1]?.deviceSources.flush();
    await Promise.all(servers.map(({ deviceSources }) => deviceSources.poll()));
    expect((await client.get(`/tenants/devices/${made.id}/configuration`)).body.gateways).toHaveLength(1);
    clock.advance(1_000);
    report(clock.now().getTime());
    await until("it is no peer", () => peersOf(gateway).length === 0);
    await until("the other replica took its way", () => made.device.content?.gateways.length === 0);
  });
});

/** The place of the last entry on record. */
async function audited(): Promise<number> {
  const { status, body, text } = await client.get("/tenants/events?limit=1&sort=-position");
  expect(status, text).toBe(200);
  return body.data[0].position;
}
