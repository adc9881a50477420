import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { HeldTransaction } from "../../testing/held-transaction.ts";
import { makeId, publicKey, unique } from "../../testing/operations/test-records.ts";
import { activeUser, signInAs } from "../../testing/signed-in-person.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const clock = new TestClock();
/** The first and the second replica trust a proxy on this machine, the third trusts none. */
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

/**
 * Creates a gateway on the second replica, and a resource behind it that is open only from some addresses. An empty
 * list opens it from everywhere.
 */
async function grantAccess(sourceIps: readonly string[], address = block) {
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
  await openAt(made.id, sourceIps, address);
  return { id: made.id as string, gateway };
}

/** Creates a resource behind a gateway that is open only from some addresses. */
async function openAt(gatewayId: string, sourceIps: readonly string[], address: string): Promise<void> {
  const resource = await client.post("/tenants/resources", {
    name: unique("Resource"),
    type: "PRIVATE",
    addresses: [{ address, protocols: [] }],
  });
  expect(resource.status, resource.text).toBe(201);
  const balanced = await client.post(`/tenants/resources/${resource.body.id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [gatewayId],
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
}

async function newDevice(url = urlOf(0), userId?: string, key = publicKey()) {
  const made = await client.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: userId ?? (await makeId("user", client)),
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

/** Connects a device from an address, as a proxy in front of the replica reports it. */
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

function hasRoute({ device }: { device: SimulatedDevice }, gatewayId: string, address = block): boolean {
  return device.routeTo(address) === gatewayId;
}

/** Reports a handshake of the gateway's only peer from an address, now. */
function report(gateway: SimulatedGateway, address: string): void {
  const lastHandshake = clock.now().getTime();
  gateway.heartbeat({
    peers: [{ peer: peerOf(gateway), lastHandshake, address, receivedBytes: 1, sentBytes: 1 }],
  });
}

describe.each([
  ["IPv4", ["192.0.2.0/24"], "192.0.2.7", "198.51.100.9"],
  ["IPv6", ["2001:db8:1::/48"], "2001:db8:1::7", "2001:db8:2::7"],
  ["IPv4 written as IPv6", ["192.0.2.0/24"], "::ffff:192.0.2.7", "::ffff:198.51.100.9"],
])("%s: a policy asks for source addresses", (_, sourceIps, inside, outside) => {
  test("the address that a device connects from grants and revokes its access before any gateway has seen it", async () => {
    const { id, gateway } = await grantAccess(sourceIps);
    const made = await newDevice();
    const before = await audited();
    await connectFrom(made.device, inside);
    await until("it is a peer at the other replica's gateway", () => peersOf(gateway).includes(made.key));
    await until("it has its route", () => hasRoute(made, id));
    expect((await client.get(`/tenants/devices/${made.id}/configuration`)).body).toEqual(made.device.content);
    await connectFrom(made.device, outside);
    await until("it is not a peer any more", () => peersOf(gateway).length === 0);
    await until("its route is gone", () => made.device.content?.gateways.length === 0);
    expect(await audited()).toBe(before);
  });
});

test("X-Forwarded-For is ignored without a trusted proxy", async () => {
  const { gateway } = await grantAccess(["192.0.2.0/24", "127.0.0.0/8"]);
  const spoofing = await newDevice(urlOf(2));
  const honest = await newDevice();
  await connectFrom(spoofing.device, "192.0.2.7");
  await until("it has a configuration", () => spoofing.device.content !== undefined);
  await servers[2]?.deviceSources.flush();
  // The honest device connected later and is known to the gateway, so the first observation was handled as well.
  await connectFrom(honest.device, "192.0.2.8");
  await until("the honest one is a peer", () => peersOf(gateway).includes(honest.key));
  expect(peersOf(gateway)).toEqual([honest.key]);
  expect(spoofing.device.content?.gateways).toEqual([]);
});

describe("of the observations of a gateway and of the device's connection", () => {
  test("the latest one counts, on every replica", async () => {
    const { id, gateway } = await grantAccess(["192.0.2.0/24"]);
    const made = await newDevice();
    await connectFrom(made.device, "192.0.2.7");
    await until("it has its route", () => hasRoute(made, id));
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
    await until("it is not a peer any more", () => peersOf(gateway).length === 0);
    await until("the other replica removed its route", () => made.device.content?.gateways.length === 0);
  });
});

describe("an address counts only where it was observed", () => {
  const open = "10.20.31.0/24";
  const ownOffice = "10.20.32.0/24";

  test("a gateway's observation opens its own policies, and those of no other gateway", async () => {
    const other = await grantAccess(["192.0.2.0/24"]);
    const lying = await grantAccess([], open);
    const made = await newDevice();
    await connectFrom(made.device, "198.51.100.9");
    await until("it is a peer where everybody may be", () => peersOf(lying.gateway).length === 1);
    await openAt(lying.id, ["192.0.2.0/24"], ownOffice);
    clock.advance(1_000);
    report(lying.gateway, "192.0.2.7");
    // Its own policy opens, so the observation has reached every part of the server.
    await until("it has a route through the gateway that observed it", () => hasRoute(made, lying.id, ownOffice));
    await Promise.all(servers.map(({ deviceSources }) => deviceSources.poll()));
    expect(peersOf(other.gateway)).toEqual([]);
    expect(hasRoute(made, other.id)).toBe(false);
    expect((await client.get(`/tenants/devices/${made.id}/configuration`)).body).toEqual(made.device.content);
    // An observation of the control plane counts at every gateway, even after an earlier one of a gateway.
    await connectFrom(made.device, "192.0.2.8");
    await until("it is a peer at the other gateway", () => peersOf(other.gateway).includes(made.key));
    await until("it has its route", () => hasRoute(made, other.id));
  });

  test("the address of a relay counts only if the device's own connection came from it", async () => {
    const relay = await client.must.post("/tenants/gateways", {
      name: unique("Relay"),
      wireguardPort: "51820",
      endpoint: "192.0.2.1",
    });
    await client.must.post(`/tenants/gateways/${relay.body.id}/enable-relay`);
    const { id, gateway } = await grantAccess([], open);
    await openAt(id, ["192.0.2.0/24"], ownOffice);
    const made = await newDevice();
    const isIn = () => hasRoute(made, id, ownOffice);
    const reported = (address: string) => {
      clock.advance(1_000);
      report(gateway, address);
    };
    await connectFrom(made.device, "198.51.100.9");
    await until("it is a peer", () => peersOf(gateway).length === 1);
    reported("192.0.2.8");
    await until("it is in the office", isIn);
    reported("192.0.2.1");
    await until("it can be anywhere", () => !isIn());
    await connectFrom(made.device, "192.0.2.1");
    await until("its own connection shows the office", isIn);
    const { length } = gateway.answers;
    reported("192.0.2.1");
    await until("it is answered", () => gateway.answers.length > length);
    await servers[1]?.deviceSources.flush();
    await Promise.all(servers.map(({ deviceSources }) => deviceSources.poll()));
    expect(isIn()).toBe(true);
  });

  test("the address of a gateway that carries internet traffic never counts", async () => {
    const carrier = await client.must.post("/tenants/gateways", {
      name: unique("Office"),
      wireguardPort: "51820",
      endpoint: "192.0.2.1",
    });
    const policy = await client.must.post("/tenants/policies", {
      name: unique("Internet"),
      type: "INTERNET",
      mode: "INTERNET_ACCESS_POINT",
      action: true,
      allUsers: true,
      gateways: [carrier.body.id],
    });
    const { id, gateway } = await grantAccess([], open);
    await openAt(id, ["192.0.2.0/24"], ownOffice);
    const made = await newDevice();
    const isIn = () => hasRoute(made, id, ownOffice);
    await connectFrom(made.device, "192.0.2.8");
    await until("its own connection shows the office", isIn);
    await connectFrom(made.device, "192.0.2.1");
    await until("its connection may have passed through the tunnel", () => !isIn());
    clock.advance(1_000);
    report(gateway, "192.0.2.8");
    await until("the gateway has seen it in the office", isIn);
    clock.advance(1_000);
    report(gateway, "192.0.2.1");
    await until("its packets may have passed through another tunnel", () => !isIn());
    await client.must.patch(`/tenants/policies/${policy.body.id}/deactivate`);
    await connectFrom(made.device, "192.0.2.1");
    await until("the gateway carries no internet traffic any more", isIn);
  });

  test("addresses that no remote device has are ignored", async () => {
    const { id, gateway } = await grantAccess(["192.0.2.0/24"]);
    const made = await newDevice();
    await connectFrom(made.device, "192.0.2.7");
    await until("it is a peer", () => peersOf(gateway).length === 1);
    clock.advance(1_000);
    report(gateway, "127.0.0.1");
    await until("it is answered", () => gateway.answers.length === 1);
    await servers[1]?.deviceSources.flush();
    await Promise.all(servers.map(({ deviceSources }) => deviceSources.poll()));
    expect(peersOf(gateway)).toHaveLength(1);
    expect(hasRoute(made, id)).toBe(true);
  });
});

/** Stores an observation of a gateway or of the control plane, and notifies all replicas. */
async function observe(
  deviceId: string,
  gatewayId: string | null,
  address: string,
  at: Date = clock.now(),
): Promise<void> {
  servers[0]?.deviceSources.observe(tenant.id, deviceId, gatewayId, address, at);
  await servers[0]?.deviceSources.flush();
}

describe("a future-dated observation, stored while a clock was ahead,", () => {
  const inFiveHours = () => new Date(clock.now().getTime() + 5 * 3_600_000);
  const routesOf = async (deviceId: string) =>
    (await client.must.get(`/tenants/devices/${deviceId}/configuration`)).body.gateways;

  test("of the control plane is replaced by the next one, and precedes those of gateways", async () => {
    const { id, gateway } = await grantAccess(["192.0.2.0/24"]);
    const made = await newDevice();
    await observe(made.id, null, "192.0.2.7", inFiveHours());
    await until("it is a peer", () => peersOf(gateway).includes(made.key));
    report(gateway, "198.51.100.9");
    await until("its handshake shows that it left", () => peersOf(gateway).length === 0);
    expect(await routesOf(made.id)).toEqual([]);
    await connectFrom(made.device, "192.0.2.8");
    await until("it is a peer again", () => peersOf(gateway).includes(made.key));
    await connectFrom(made.device, "198.51.100.9");
    await until("its connection shows that it left", () => peersOf(gateway).length === 0);
    await until("its route is gone", () => !hasRoute(made, id));
    expect(await routesOf(made.id)).toEqual([]);
  });

  test("of a gateway is replaced by the next one, and precedes those of the control plane", async () => {
    const { id, gateway } = await grantAccess(["192.0.2.0/24"]);
    const made = await newDevice();
    await connectFrom(made.device, "192.0.2.7");
    await until("it is a peer", () => peersOf(gateway).includes(made.key));
    await observe(made.id, id, "192.0.2.8", inFiveHours());
    await connectFrom(made.device, "198.51.100.9");
    await until("its connection shows that it left", () => peersOf(gateway).length === 0);
    await until("its route is gone", () => !hasRoute(made, id));
    expect(await routesOf(made.id)).toEqual([]);
    clock.advance(1_000);
    await observe(made.id, id, "192.0.2.9");
    await until("it is a peer again", () => peersOf(gateway).includes(made.key));
    expect(await routesOf(made.id)).toHaveLength(1);
  });

  test.each([
    ["the control plane", true],
    ["a gateway", false],
  ])("of %s stays superseded when its time comes", async (_, isOwn) => {
    const { id } = await grantAccess(["192.0.2.0/24"]);
    const made = await newDevice();
    await observe(made.id, isOwn ? null : id, "192.0.2.7", inFiveHours());
    expect(await routesOf(made.id)).toHaveLength(1);
    await observe(made.id, isOwn ? id : null, "198.51.100.9");
    expect(await routesOf(made.id)).toEqual([]);
    clock.advance(5 * 3_600_000 + 1);
    expect(await routesOf(made.id)).toEqual([]);
  });
});

test("a device that asks about its access gets the decision of the gateway that observed it", async () => {
  const { id } = await grantAccess(["192.0.2.0/24"]);
  const key = new SimulatedKey();
  const made = await newDevice(urlOf(0), undefined, key.publicKey);
  made.device.useKey(key);
  await connectFrom(made.device, "198.51.100.9");
  await until("it has a configuration", () => made.device.content !== undefined);
  const ask = async () => {
    clock.advance(2_000);
    const { length } = made.device.explained;
    made.device.question("10.20.30.7");
    await until("it is answered", () => made.device.explained.length > length);
    return made.device.explained.at(-1);
  };
  clock.advance(1_000);
  await observe(made.id, id, "192.0.2.7");
  await until("it has its route", () => hasRoute(made, id));
  expect(await ask()).toMatchObject({ outcome: "reachable", reasons: [] });
  await observe(made.id, id, "203.0.113.5");
  await until("its route is gone", () => made.device.content?.gateways.length === 0);
  const reasons = [{ kind: "network", text: expect.stringContaining("203.0.113.5") }];
  expect(await ask()).toMatchObject({ outcome: "blocked", reasons });
});

test("the address of a person's request is presumed only until anybody has observed the device", async () => {
  const { id } = await grantAccess(["127.0.0.0/8"]);
  const other = await grantAccess([], "10.20.31.0/24");
  const [server] = servers;
  if (server === undefined) throw new Error("no server");
  const { id: userId } = await activeUser(server, tenant, "ann@example.com");
  // A command, so that the models of replicas follow.
  await client.must.patch(`/tenants/users/${userId}`, { maxDevices: 3 });
  const made = await newDevice(urlOf(0), userId);
  const ann = server.client(undefined, await signInAs(server, tenant.id, userId));
  const gateways = async () => {
    const { body } = await ann.must.get(`/tenants/my/devices/${made.id}/configuration`);
    return body.gateways.map(({ gateway }: { gateway: string }) => gateway).sort();
  };
  expect(await gateways()).toEqual([id, other.id].sort());
  await observe(made.id, other.id, "198.51.100.9");
  expect(await gateways()).toEqual([other.id]);
});

test("an observation that cannot count, or that is known, is not stored again", async () => {
  const { id, gateway } = await grantAccess(["198.51.100.0/24"]);
  const made = await newDevice();
  await connectFrom(made.device, "198.51.100.9");
  // The gateway's replica knows the observation of the control plane then.
  await until("it is a peer", () => peersOf(gateway).length === 1);
  const moved: (string | null)[] = [];
  servers[1]?.deviceSources.follow({
    tenantIds: [],
    moved: (_, devices) => {
      moved.push(...devices.map(({ source }) => source.address));
    },
  });
  const peer = peerOf(gateway);
  const lastHandshake = clock.now().getTime() - 500_000;
  for (const count of [1, 2]) {
    gateway.heartbeat({ peers: [{ peer, lastHandshake, address: "192.0.2.7", receivedBytes: 1, sentBytes: 1 }] });
    await until("it is answered", () => gateway.answers.length === count);
    await servers[1]?.deviceSources.flush();
  }
  expect(moved).toEqual([]);
  // Another replica may store the same observation.
  const at = clock.now();
  for (const address of ["192.0.2.7", "192.0.2.7", "192.0.2.8"]) {
    servers[1]?.deviceSources.observe(tenant.id, made.id, id, address, at);
    await servers[1]?.deviceSources.flush();
  }
  expect(moved).toEqual(["192.0.2.7", "192.0.2.8"]);
});

test("a tenant whose rows are locked does not delay the observations of another", async () => {
  const [server] = servers;
  const other = await server?.newTenant();
  if (server === undefined || other === undefined) throw new Error("no server");
  const busy = tenant;
  const locked = await newDevice();
  client = other.client;
  const free = await newDevice();
  const moved: string[] = [];
  server.deviceSources.follow({
    tenantIds: [],
    moved: (_, devices) => {
      moved.push(...devices.map(({ deviceId }) => deviceId));
    },
  });
  const held = await HeldTransaction.begin(inject("database"), "DELETE FROM devices WHERE id = $1", locked.id);
  try {
    server.deviceSources.observe(busy.id, locked.id, null, "192.0.2.7", clock.now());
    server.deviceSources.observe(other.id, free.id, null, "192.0.2.8", clock.now());
    // The failure of the busy tenant is only logged, so that the next run is not later.
    await server.deviceSources.flush();
    expect(moved).toEqual([free.id]);
    // The busy tenant pauses. Later observations of others are stored meanwhile.
    server.deviceSources.observe(other.id, free.id, null, "192.0.2.9", clock.now());
    await until("it is stored", () => moved.length === 2);
  } finally {
    await held.end();
  }
  await until("the other observation is stored", () => moved.includes(locked.id));
});

/** The position of the last audit entry. */
async function audited(): Promise<number> {
  const { status, body, text } = await client.get("/tenants/events?limit=1&sort=-position");
  expect(status, text).toBe(200);
  return body.data[0].position;
}
