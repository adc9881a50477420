import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { make, makeId, publicKey, unique } from "../../testing/operations/test-records.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

let server: TestServer;
let other: TestServer;
let urls: readonly [string, string];
let tenant: TestTenant;
let client: TestClient;
const opened: { cut(): void }[] = [];

beforeAll(async () => {
  [server, other] = [await startTestServer(), await startTestServer()];
  urls = [await listen(server), await listen(other)];
});
afterAll(() => Promise.all([server.close(), other.close()]));
beforeEach(async () => {
  tenant = await server.newTenant();
  ({ client } = tenant);
});
afterEach(() => {
  for (const end of opened.splice(0)) end.cut();
});

function listen({ app }: TestServer): Promise<string> {
  return app.listen({ host: "127.0.0.1", port: 0 });
}

async function newDevice(url = urls[0]) {
  const key = publicKey();
  const userId = await makeId("user", client);
  const made = await client.post("/tenants/devices", {
    name: unique("Laptop"),
    userId,
    hardwareId: "C02XK0AAJGH5",
    publicKey: key,
  });
  expect(made.status, made.text).toBe(201);
  const { id } = made.body;
  const device = new SimulatedDevice({ url, deviceId: id, token: await rotate(id), publicKey: key });
  opened.push(device);
  return { id: id as string, userId, device };
}

async function rotate(id: string): Promise<string> {
  const { status, body, text } = await client.post(`/tenants/devices/${id}/rotate-token`);
  expect(status, text).toBe(200);
  return body.token;
}

/** A gateway that is ONLINE at an endpoint of its own. */
async function newGateway(endpoint: string, url = urls[0]) {
  const made = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820", endpoint });
  expect(made.status, made.text).toBe(201);
  const { id, token } = made.body;
  const gateway = new SimulatedGateway({ url, gatewayId: id, token });
  opened.push(gateway);
  await gateway.connect();
  await until("it is ONLINE", async () => (await client.get(`/tenants/gateways/${id}`)).body.status === "ONLINE");
  return { id: id as string, gateway };
}

const block = "10.20.30.0/24";

/** A resource behind gateways in the order of their priority, and a policy that lets everybody there. */
async function openWay(...gateways: readonly string[]) {
  const resource = await client.post("/tenants/resources", {
    name: unique("Resource"),
    type: "PRIVATE",
    addresses: [
      { address: block, protocols: [] },
      { address: "git.example.com", protocols: [] },
    ],
  });
  expect(resource.status, resource.text).toBe(201);
  const { id } = resource.body;
  const balanced = await client.post(`/tenants/resources/${id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways,
  });
  expect(balanced.status, balanced.text).toBe(204);
  const policy = await client.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    allUsers: true,
    resources: [id],
  });
  expect(policy.status, policy.text).toBe(201);
  return { resourceId: id as string, policyId: policy.body.id as string };
}

async function connected(url = urls[0]) {
  const gateway = await newGateway("198.51.100.1");
  const way = await openWay(gateway.id);
  const made = await newDevice(url);
  expect(await made.device.connect()).toBe(101);
  await until("it has its way", () => made.device.wayTo(block) === gateway.id);
  return { ...made, ...way, gateway };
}

/** What the API says the device should have is what it has. */
async function expectAsShown(id: string, device: SimulatedDevice): Promise<void> {
  const { status, body } = await client.get(`/tenants/devices/${id}/configuration`);
  expect(status).toBe(200);
  expect(body).toEqual(device.content);
}

test("a device that connects is told who signs, and which way its packets go", async () => {
  const { id, device, gateway } = await connected();
  expect(device.welcome).toMatchObject({ tenant: tenant.id, device: id, heartbeatIntervalMs: 10_000 });
  expect(device.content?.gateways).toEqual([
    {
      gateway: gateway.id,
      publicKey: gateway.gateway.publicKey,
      addresses: [expect.stringMatching(/^100\./), expect.stringMatching(/^fd/)],
      endpoint: "198.51.100.1:51820",
      relays: [],
      allowedIps: [block],
      names: ["git.example.com"],
    },
  ]);
  expect(device.signed?.header).toMatchObject({ tenant: tenant.id, device: id });
  await expectAsShown(id, device);
  device.heartbeat();
  await until("it is answered", () => device.answers.length === 1);
});

test("a change that another replica takes reaches it, and one that leaves it as it was sends nothing", async () => {
  const { id, device, policyId } = await connected(urls[1]);
  const { sent } = device;
  await client.post("/tenants/groups", { name: unique("Group") });
  await client.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("the way is gone", () => device.content?.gateways.length === 0);
  expect(device.sent).toBe(sent + 1);
  await expectAsShown(id, device);
  await client.post(`/tenants/policies/${policyId}/reactivate`);
  await until("the way is back", () => device.wayTo(block) !== undefined);
});

describe("a device that may reach nothing has no gateways", () => {
  test("while it is deactivated", async () => {
    const { id, device } = await connected();
    await client.patch(`/tenants/devices/${id}/deactivate`);
    await until("they are gone", () => device.content?.gateways.length === 0);
    await expectAsShown(id, device);
    await client.post(`/tenants/devices/${id}/reactivate`);
    await until("they are back", () => device.wayTo(block) !== undefined);
  });

  test("while its user is", async () => {
    const { device, userId } = await connected();
    await client.patch(`/tenants/users/${userId}/deactivate`);
    await until("they are gone", () => device.content?.gateways.length === 0);
    await client.post(`/tenants/users/${userId}/reactivate`);
    await until("they are back", () => device.wayTo(block) !== undefined);
  });

  test("when it comes while there is nothing to reach, and is welcome all the same", async () => {
    const { id, device } = await newDevice();
    await device.connect();
    await until("it is told so", () => device.content?.gateways.length === 0);
    await expectAsShown(id, device);
  });
});

test("news of somebody else cost it nothing", async () => {
  const { device } = await connected();
  const { sent } = device;
  const stranger = await newDevice();
  await client.patch(`/tenants/devices/${stranger.id}/deactivate`);
  await client.patch(`/tenants/users/${stranger.userId}/deactivate`);
  await stranger.device.connect();
  await until("it is served", () => stranger.device.content !== undefined);
  expect(device.sent).toBe(sent);
});

describe("failover", () => {
  async function twoWays() {
    const [first, second] = [await newGateway("198.51.100.1"), await newGateway("198.51.100.2", urls[1])];
    await openWay(first.id, second.id);
    const { device, id } = await newDevice(urls[1]);
    await device.connect();
    await until("it goes the first way", () => device.wayTo(block) === first.id);
    return { first, second, device, id };
  }

  test("maintenance sends devices to the next gateway, and its end back", async () => {
    const { first, second, device } = await twoWays();
    await client.post(`/tenants/gateways/${first.id}/enter-maintenance`);
    await until("it goes the second way", () => device.wayTo(block) === second.id);
    expect(device.content?.gateways.map(({ gateway }) => gateway)).toEqual([second.id]);
    await client.post(`/tenants/gateways/${first.id}/exit-maintenance`);
    await until("it goes the first way", () => device.wayTo(block) === first.id);
  });

  test("a gateway in ERROR is left, and found again once it enforces", async () => {
    const { first, second, device } = await twoWays();
    first.gateway.verdict = () => "not_applied";
    await openWay(first.id);
    await until("it goes the second way", () => device.wayTo(block) === second.id);
    first.gateway.verdict = () => "apply";
    await openWay(first.id);
    await until("it goes the first way", () => device.wayTo(block) === first.id);
  });

  test("a gateway's other endpoint, port or key reach devices", async () => {
    const { first, device } = await twoWays();
    const present = () => device.content?.gateways.find(({ gateway }) => gateway === first.id);
    await client.put(`/tenants/gateways/${first.id}`, { endpoint: "gate.example.com", wireguardPort: "4500" });
    await until("it is told", () => present()?.endpoint === "gate.example.com:4500");
    await client.put(`/tenants/gateways/${first.id}`, { endpoint: "2001:db8::5" });
    await until("it is told", () => present()?.endpoint === "[2001:db8::5]:4500");
    const key = publicKey();
    await first.gateway.connect({ publicKey: key });
    await until("it is told", () => present()?.publicKey === key);
  });

  test("a gateway that is deleted is told to nobody any more", async () => {
    const { first, second, device } = await twoWays();
    expect((await client.delete(`/tenants/gateways/${first.id}`)).status).toBe(204);
    await until("it goes the second way", () => device.wayTo(block) === second.id);
  });
});

describe("a device that comes back", () => {
  test("with what it should have is sent nothing, by any replica", async () => {
    const { device } = await connected();
    const { sent } = device;
    for (const url of urls) {
      device.cut();
      device.url = url;
      device.welcome = undefined;
      await device.connect();
      await until("it is welcome", () => device.welcome !== undefined);
      // What would come, comes before the answer to what is said after the next change.
      device.heartbeat();
      const { length } = device.answers;
      await until("it is answered", () => device.answers.length > length);
    }
    expect(device.sent).toBe(sent);
  });

  test("after a change is sent what changed meanwhile", async () => {
    const { device, policyId } = await connected();
    device.cut();
    await client.patch(`/tenants/policies/${policyId}/deactivate`);
    device.url = urls[1];
    await device.connect();
    await until("the way is gone", () => device.content?.gateways.length === 0);
  });

  test("with something later than the tenant's present generation is sent what is later still", async () => {
    const { device } = await newDevice();
    device.uses = { generation: 1_000_000, issuedAt: Date.now() + 60_000, hash: "0".repeat(64) };
    await device.connect();
    await until("the configuration arrives", () => device.content !== undefined);
    expect(device.uses.generation).toBe(1_000_000);
  });
});

test("while a configuration is on its way no other is sent, and then the newest alone", async () => {
  const { device, policyId, gateway } = await connected();
  const { sent } = device;
  let unanswered: NonNullable<SimulatedDevice["uses"]> | undefined;
  device.verdict = (name) => {
    unanswered = name;
    return undefined;
  };
  await client.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("one is on its way", () => unanswered !== undefined);
  for (let count = 0; count < 3; count += 1) {
    await client.post(`/tenants/policies/${policyId}/reactivate`);
    await client.patch(`/tenants/policies/${policyId}/deactivate`);
  }
  await client.put(`/tenants/gateways/${gateway.id}`, { wireguardPort: "4500" });
  await client.post(`/tenants/policies/${policyId}/reactivate`);
  expect(device.sent).toBe(sent + 1);
  device.verdict = () => "apply";
  if (unanswered !== undefined) {
    device.say({ type: "failed", configuration: unanswered, reason: "not_applied", message: "too slow" });
  }
  await until("the newest arrives", () => device.content?.gateways[0]?.endpoint === "198.51.100.1:4500");
  expect(device.sent).toBeLessThanOrEqual(sent + 3);
});

test("what a device refused is not sent to it again and again, and what comes next is", async () => {
  const { device, policyId, gateway } = await connected();
  const { sent } = device;
  device.verdict = () => "not_applied";
  await client.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("it is sent", () => device.sent === sent + 1);
  device.heartbeat();
  await until("it is answered", () => device.answers.length === 1);
  expect(device.sent).toBe(sent + 1);
  device.verdict = () => "apply";
  await client.post(`/tenants/policies/${policyId}/reactivate`);
  await client.put(`/tenants/gateways/${gateway.id}`, { wireguardPort: "4500" });
  await until("the next arrives", () => device.content?.gateways[0]?.endpoint === "198.51.100.1:4500");
});

describe("a link is cut", () => {
  const goodbye = (reason: string) => [expect.objectContaining({ reason })];

  test("when its token is replaced", async () => {
    const { id, device } = await connected(urls[1]);
    const token = await rotate(id);
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("token_revoked"));
    expect(await device.connect()).toBe(401);
    device.token = token;
    expect(await device.connect()).toBe(101);
  });

  test("when its device is deleted", async () => {
    const { id, device } = await connected(urls[1]);
    expect((await client.delete(`/tenants/devices/${id}`)).status).toBe(204);
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("device_gone"));
    expect(await device.connect()).toBe(401);
  });

  test("when its tenant is deleted", async () => {
    const { device } = await connected(urls[1]);
    expect((await server.operator.delete(`/operator/tenants/${tenant.id}`)).status).toBe(204);
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("device_gone"));
  });

  test("where its key is not the one that was enrolled", async () => {
    const { device } = await newDevice();
    device.publicKey = publicKey();
    await device.connect();
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("other_key"));
    expect(device.welcome).toBeUndefined();
  });

  test("where the device opens another one", async () => {
    const { id, device } = await connected();
    const again = new SimulatedDevice({ url: urls[0], deviceId: id, token: device.token, publicKey: device.publicKey });
    opened.push(again);
    await again.connect();
    await until("the first is told", () => device.goodbyes.length === 1 && again.content !== undefined);
    expect(device.goodbyes).toEqual([expect.objectContaining({ reason: "replaced", retryAfterMs: 30_000 })]);
  });
});

describe("nobody is let in", () => {
  test.each([
    ["with another token", `gatehouse_device_${"0".repeat(49)}`],
    ["with an API key", "key"],
    ["with a gateway's token", "gateway"],
    ["with no text of a token", "%%%"],
  ])("%s", async (_how, token) => {
    const { device } = await newDevice();
    if (token === "gateway") device.token = (await make("gateway", client)).token;
    else device.token = token === "key" ? tenant.key : token;
    expect(await device.connect()).toBe(401);
  });

  test("to gateways' links with a device's token", async () => {
    const { device } = await newDevice();
    const gateway = new SimulatedGateway({
      url: urls[0],
      gatewayId: await makeId("gateway", client),
      token: device.token,
    });
    expect(await gateway.connect()).toBe(401);
  });

  test("without a WebSocket", async () => {
    const { device } = await newDevice();
    const reply = await fetch(`${urls[0]}/device/v1/link`, { headers: { authorization: `Bearer ${device.token}` } });
    expect(reply.status).toBe(426);
    const stranger = await fetch(`${urls[0]}/device/v1/link`);
    expect(stranger.status).toBe(401);
    expect(stranger.headers.get("www-authenticate")).toMatch(/^Bearer/);
    expect(await stranger.json()).toMatchObject({ code: "invalid_device_token" });
  });

  test("after failing too often from one address", async () => {
    const limited = await startTestServer({
      settings: { rateLimits: { perMinute: 0, authFailures: 3, shared: false } },
    });
    const { device } = await newDevice(await listen(limited));
    const { token } = device;
    device.token = `gatehouse_device_${"0".repeat(49)}`;
    for (let count = 0; count < 3; count += 1) expect(await device.connect()).toBe(401);
    device.token = token;
    expect(await device.connect()).toBe(429);
    await limited.close();
  });
});

describe("who breaks the protocol is let go", () => {
  test.each<[string, (device: SimulatedDevice) => void]>([
    ["something that is no JSON", (device) => device.sayText("{")],
    ["a frame of a gateway", (device) => device.sayText(JSON.stringify({ type: "whole" }))],
    ["bytes", (device) => device.sayText(Buffer.from([1, 2, 3]))],
    ["a second hello", (device) => device.sayHello()],
    ["a frame of a megabyte", (device) => device.sayText(" ".repeat(1024 * 1024))],
    [
      "an answer to what was not sent",
      (device) => device.say({ type: "applied", configuration: { generation: 1, issuedAt: 1, hash: "0".repeat(64) } }),
    ],
    [
      "too many frames",
      (device) => {
        for (let count = 0; count < 400; count += 1) device.heartbeat();
      },
    ],
  ])("%s", async (_what, misbehave) => {
    const { device } = await newDevice();
    await device.connect();
    await until("the configuration arrives", () => device.content !== undefined);
    misbehave(device);
    await until("it is closed", () => device.closes.length === 1);
  });

  test("before it says hello", async () => {
    const { device } = await newDevice();
    await device.open();
    device.heartbeat();
    await until("it is closed", () => device.closes.length === 1);
    expect(device.goodbyes).toEqual([expect.objectContaining({ reason: "protocol" })]);
  });
});

test("a replica that is full sends devices away before it looks at them", async () => {
  const small = await startTestServer({ settings: { deviceLinks: { limits: { connections: 1 } } } });
  const url = await listen(small);
  const [first, second] = [await newDevice(url), await newDevice(url)];
  expect(await first.device.connect()).toBe(101);
  expect(await second.device.connect()).toBe(503);
  expect(small.deviceLinks.state.connections).toBe(1);
  await small.close();
  expect(first.device.goodbyes).toEqual([
    expect.objectContaining({ reason: "shutting_down", retryAfterMs: expect.any(Number) }),
  ]);
});

test("a gateway that discovers its endpoint is found where its link comes from", async () => {
  const behindProxy = await startTestServer({ settings: { trustedProxies: ["127.0.0.1"] } });
  const url = await listen(behindProxy);
  const made = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "4500" });
  const gateway = new SimulatedGateway({ url, gatewayId: made.body.id, token: made.body.token });
  opened.push(gateway);
  await gateway.connect({}, { "x-forwarded-for": "203.0.113.9" });
  await openWay(made.body.id);
  const { device } = await newDevice();
  await device.connect();
  await until("it is found", () => device.content?.gateways[0]?.endpoint === "203.0.113.9:4500");
  await behindProxy.close();
});
