import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { describe, expect, test } from "vitest";
import { generateToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { linkedReplicas, listen } from "../../testing/linked-replicas.ts";
import { make, makeId, publicKey, unique } from "../../testing/operations/test-records.ts";
import { sha256 } from "../../testing/simulated-agent.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas(2);

async function newDevice(url = replicas.url) {
  const key = publicKey();
  const userId = await makeId("user", replicas.client);
  const made = await replicas.client.post("/tenants/devices", {
    name: unique("Laptop"),
    userId,
    hardwareId: "C02XK0AAJGH5",
    publicKey: key,
  });
  expect(made.status, made.text).toBe(201);
  const { id } = made.body;
  const device = new SimulatedDevice({ url, deviceId: id, token: await rotate(id), publicKey: key });
  replicas.opened.push(device);
  return { id: id as string, userId, device };
}

async function rotate(id: string): Promise<string> {
  const { status, body, text } = await replicas.client.post(`/tenants/devices/${id}/rotate-token`);
  expect(status, text).toBe(200);
  return body.token;
}

/** Creates a gateway with its own endpoint, and waits until it is ONLINE. */
async function newGateway(endpoint: string, url = replicas.url) {
  const { id, gateway } = await replicas.newGateway({ url }, { endpoint });
  await gateway.connect();
  const status = async () => (await replicas.client.get(`/tenants/gateways/${id}`)).body.status;
  await until("it is ONLINE", async () => (await status()) === "ONLINE");
  return { id, gateway };
}

const block = "10.20.30.0/24";

/**
 * Creates a resource behind gateways in the order of their priority, and a policy that permits everybody to access
 * it.
 */
async function grantAccess(...gateways: readonly string[]) {
  const resource = await replicas.client.post("/tenants/resources", {
    name: unique("Resource"),
    type: "PRIVATE",
    addresses: [
      { address: block, protocols: [] },
      { address: "git.example.com", protocols: [] },
    ],
  });
  expect(resource.status, resource.text).toBe(201);
  const { id } = resource.body;
  const balanced = await replicas.client.post(`/tenants/resources/${id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways,
  });
  expect(balanced.status, balanced.text).toBe(204);
  const policy = await replicas.client.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    allUsers: true,
    resources: [id],
  });
  expect(policy.status, policy.text).toBe(201);
  return { resourceId: id as string, policyId: policy.body.id as string };
}

async function connected(url = replicas.url) {
  const gateway = await newGateway("198.51.100.1");
  const granted = await grantAccess(gateway.id);
  const made = await newDevice(url);
  expect(await made.device.connect()).toBe(101);
  await until("it has its route", () => made.device.routeTo(block) === gateway.id);
  return { ...made, ...granted, gateway };
}

/** Checks that the API shows the configuration that the device has. */
async function expectAsShown(id: string, device: SimulatedDevice): Promise<void> {
  const { status, body } = await replicas.client.get(`/tenants/devices/${id}/configuration`);
  expect(status).toBe(200);
  expect(body).toEqual(device.content);
}

test("a device that connects receives the signing key and its routes", async () => {
  const { id, device, gateway } = await connected();
  expect(device.welcome).toMatchObject({ tenant: replicas.tenant.id, device: id, heartbeatIntervalMs: 10_000 });
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
  expect(device.signed?.header).toMatchObject({ tenant: replicas.tenant.id, device: id });
  await expectAsShown(id, device);
  device.heartbeat();
  await until("it is answered", () => device.answers.length === 1);
});

test("a change on another replica is sent, unless it does not concern the device", async () => {
  const { id, device, policyId } = await connected(replicas.otherUrl);
  const { sent } = device;
  await replicas.client.must.post("/tenants/groups", { name: unique("Group") });
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("the route is gone", () => device.content?.gateways.length === 0);
  expect(device.sent).toBe(sent + 1);
  await expectAsShown(id, device);
  await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
  await until("the route is back", () => device.routeTo(block) !== undefined);
});

describe("a device that may reach nothing has no gateways", () => {
  test("while it is deactivated", async () => {
    const { id, device } = await connected();
    await replicas.client.must.patch(`/tenants/devices/${id}/deactivate`);
    await until("they are gone", () => device.content?.gateways.length === 0);
    await expectAsShown(id, device);
    await replicas.client.must.post(`/tenants/devices/${id}/reactivate`);
    await until("they are back", () => device.routeTo(block) !== undefined);
  });

  test("while its user is", async () => {
    const { device, userId } = await connected();
    await replicas.client.must.patch(`/tenants/users/${userId}/deactivate`);
    await until("they are gone", () => device.content?.gateways.length === 0);
    await replicas.client.must.post(`/tenants/users/${userId}/reactivate`);
    await until("they are back", () => device.routeTo(block) !== undefined);
  });

  test("when it connects while there is nothing to reach", async () => {
    const { id, device } = await newDevice();
    await device.connect();
    await until("it is told so", () => device.content?.gateways.length === 0);
    await expectAsShown(id, device);
  });
});

test("changes of other devices send nothing", async () => {
  const { device } = await connected();
  const { sent } = device;
  const stranger = await newDevice();
  await replicas.client.must.patch(`/tenants/devices/${stranger.id}/deactivate`);
  await replicas.client.must.patch(`/tenants/users/${stranger.userId}/deactivate`);
  await stranger.device.connect();
  await until("it is served", () => stranger.device.content !== undefined);
  expect(device.sent).toBe(sent);
});

describe("failover", () => {
  async function twoGateways() {
    const [first, second] = [await newGateway("198.51.100.1"), await newGateway("198.51.100.2", replicas.otherUrl)];
    await grantAccess(first.id, second.id);
    const { device, id } = await newDevice(replicas.otherUrl);
    await device.connect();
    await until("its route is through the first gateway", () => device.routeTo(block) === first.id);
    return { first, second, device, id };
  }

  test("maintenance moves devices to the next gateway, and its end moves them back", async () => {
    const { first, second, device } = await twoGateways();
    await replicas.client.must.post(`/tenants/gateways/${first.id}/enter-maintenance`);
    await until("its route is through the second gateway", () => device.routeTo(block) === second.id);
    expect(device.content?.gateways.map(({ gateway }) => gateway)).toEqual([second.id]);
    await replicas.client.must.post(`/tenants/gateways/${first.id}/exit-maintenance`);
    await until("its route is through the first gateway", () => device.routeTo(block) === first.id);
  });

  test("a gateway in ERROR is avoided until it has applied a configuration", async () => {
    const { first, second, device } = await twoGateways();
    first.gateway.verdict = () => "not_applied";
    await grantAccess(first.id);
    await until("its route is through the second gateway", () => device.routeTo(block) === second.id);
    first.gateway.verdict = () => "apply";
    await grantAccess(first.id);
    await until("its route is through the first gateway", () => device.routeTo(block) === first.id);
  });

  test("a gateway's new endpoint, port or key is sent to devices", async () => {
    const { first, device } = await twoGateways();
    const present = () => device.content?.gateways.find(({ gateway }) => gateway === first.id);
    await replicas.client.must.put(`/tenants/gateways/${first.id}`, {
      endpoint: "gate.example.com",
      wireguardPort: "4500",
    });
    await until("it is told", () => present()?.endpoint === "gate.example.com:4500");
    await replicas.client.must.put(`/tenants/gateways/${first.id}`, { endpoint: "2001:db8::5" });
    await until("it is told", () => present()?.endpoint === "[2001:db8::5]:4500");
    const key = publicKey();
    await replicas.client.must.post(`/tenants/gateways/${first.id}/reset-key`);
    await until("it is told", async () => {
      // The reset may reach the replica later than the hello.
      if (!first.gateway.isOpen || first.gateway.publicKey !== key) {
        first.gateway.publicKey = key;
        await first.gateway.connect();
      }
      return present()?.publicKey === key;
    });
  });

  test("a deleted gateway is removed from routes", async () => {
    const { first, second, device } = await twoGateways();
    expect((await replicas.client.delete(`/tenants/gateways/${first.id}`)).status).toBe(204);
    await until("its route is through the second gateway", () => device.routeTo(block) === second.id);
  });
});

describe("a device that comes back", () => {
  test("with the desired configuration receives nothing, from any replica", async () => {
    const { device } = await connected();
    const { sent } = device;
    for (const url of [replicas.url, replicas.otherUrl]) {
      device.cut();
      device.url = url;
      device.welcome = undefined;
      await device.connect();
      await until("it is welcome", () => device.welcome !== undefined);
      // A frame about the first change would arrive before the answer to this heartbeat.
      device.heartbeat();
      const { length } = device.answers;
      await until("it is answered", () => device.answers.length > length);
    }
    expect(device.sent).toBe(sent);
  });

  test("after a change receives the new configuration", async () => {
    const { device, policyId } = await connected();
    device.cut();
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
    device.url = replicas.otherUrl;
    await device.connect();
    await until("the route is gone", () => device.content?.gateways.length === 0);
  });

  test("with a later generation than the tenant's receives a configuration that is later still", async () => {
    const { device } = await newDevice();
    device.uses = { generation: 1_000_000, issuedAt: Date.now() + 60_000, hash: "0".repeat(64) };
    await device.connect();
    await until("the configuration arrives", () => device.content !== undefined);
    expect(device.uses.generation).toBe(1_000_000);
  });

  test("with a configuration that has a future time receives a current one, and further changes", async () => {
    const { device, policyId } = await connected();
    device.cut();
    const { signed } = device;
    if (signed === undefined) throw new Error("it has a configuration");
    // The server recognizes the content from the name of the header.
    const issuedAt = Date.now() + 300 * 86_400_000;
    const expiresAt = issuedAt + signed.header.expiresAt - signed.header.issuedAt;
    device.uses = configurationName({ ...signed.header, generation: 1_000_000, issuedAt, expiresAt }, sha256);
    await device.connect();
    await until("the configuration arrives", () => device.uses?.generation === 1_000_001);
    expect(device.uses.issuedAt).toBeLessThanOrEqual(Date.now());
    expect(device.signed?.header.expiresAt).toBeLessThan(issuedAt);
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
    await until("the route is gone", () => device.content?.gateways.length === 0);
  });

  test("with a configuration that has a future time and the highest possible generation is refused", async () => {
    const { device } = await newDevice();
    const issuedAt = Date.now() + 300 * 86_400_000;
    await device.connect({ uses: { generation: Number.MAX_SAFE_INTEGER, issuedAt, hash: "0".repeat(64) } });
    await until("the goodbye arrives", () => device.goodbyes.length > 0);
    expect(device.goodbyes).toMatchObject([{ reason: "protocol" }]);
    expect(device.sent).toBe(0);
  });
});

test("while a configuration is unanswered no other is sent, and then only the newest", async () => {
  const { device, policyId, gateway } = await connected();
  const { sent } = device;
  let unanswered: NonNullable<SimulatedDevice["uses"]> | undefined;
  device.verdict = (name) => {
    unanswered = name;
    return undefined;
  };
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("one is on its way", () => unanswered !== undefined);
  for (let count = 0; count < 3; count += 1) {
    await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  }
  await replicas.client.must.put(`/tenants/gateways/${gateway.id}`, { wireguardPort: "4500" });
  await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
  expect(device.sent).toBe(sent + 1);
  device.verdict = () => "apply";
  if (unanswered !== undefined) {
    device.send({ type: "failed", configuration: unanswered, reason: "not_applied", message: "too slow" });
  }
  await until("the newest arrives", () => device.content?.gateways[0]?.endpoint === "198.51.100.1:4500");
  expect(device.sent).toBeLessThanOrEqual(sent + 3);
});

test("a refused configuration is not sent again at once, but the next one is", async () => {
  const { device, policyId, gateway } = await connected();
  const { sent } = device;
  device.verdict = () => "not_applied";
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("it is sent", () => device.sent === sent + 1);
  device.heartbeat();
  await until("it is answered", () => device.answers.length === 1);
  expect(device.sent).toBe(sent + 1);
  device.verdict = () => "apply";
  await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
  await replicas.client.must.put(`/tenants/gateways/${gateway.id}`, { wireguardPort: "4500" });
  await until("the next arrives", () => device.content?.gateways[0]?.endpoint === "198.51.100.1:4500");
});

describe("a connection is ended", () => {
  const goodbye = (reason: string) => [expect.objectContaining({ reason })];

  test("when its token is replaced", async () => {
    const { id, device } = await connected(replicas.otherUrl);
    const token = await rotate(id);
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("token_revoked"));
    expect(await device.connect()).toBe(401);
    device.token = token;
    expect(await device.connect()).toBe(101);
  });

  test("when its device is deleted", async () => {
    const { id, device } = await connected(replicas.otherUrl);
    expect((await replicas.client.delete(`/tenants/devices/${id}`)).status).toBe(204);
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("device_gone"));
    expect(await device.connect()).toBe(401);
  });

  test("when its tenant is deleted", async () => {
    const { device } = await connected(replicas.otherUrl);
    expect((await replicas.server.operator.delete(`/operator/tenants/${replicas.tenant.id}`)).status).toBe(204);
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("device_gone"));
  });

  test("when its key is not the enrolled one", async () => {
    const { device } = await newDevice();
    device.publicKey = publicKey();
    await device.connect();
    await until("it is told", () => device.goodbyes.length === 1);
    expect(device.goodbyes).toEqual(goodbye("other_key"));
    expect(device.welcome).toBeUndefined();
  });

  test("when the device opens another one", async () => {
    const { id, device } = await connected();
    const again = new SimulatedDevice({
      url: replicas.url,
      deviceId: id,
      token: device.token,
      publicKey: device.publicKey,
    });
    replicas.opened.push(again);
    await again.connect();
    await until("the first is told", () => device.goodbyes.length === 1 && again.content !== undefined);
    expect(device.goodbyes).toEqual([expect.objectContaining({ reason: "replaced", retryAfterMs: 30_000 })]);
  });
});

describe("a link is refused", () => {
  test.each([
    ["with another token", `gatehouse_device_${"0".repeat(49)}`],
    ["with an API key", "key"],
    ["with a gateway's token", "gateway"],
    ["with no text of a token", "%%%"],
  ])("%s", async (_how, token) => {
    const { device } = await newDevice();
    if (token === "gateway") device.token = (await make("gateway", replicas.client)).token;
    else device.token = token === "key" ? replicas.tenant.key : token;
    expect(await device.connect()).toBe(401);
  });

  test("at the path of gateways with a device's token", async () => {
    const { device } = await newDevice();
    const gateway = new SimulatedGateway({
      url: replicas.url,
      gatewayId: await makeId("gateway", replicas.client),
      token: device.token,
    });
    expect(await gateway.connect()).toBe(401);
  });

  test("without a WebSocket", async () => {
    const { device } = await newDevice();
    const reply = await fetch(`${replicas.url}/device/v1/link`, {
      headers: { authorization: `Bearer ${device.token}` },
    });
    expect(reply.status).toBe(426);
    const stranger = await fetch(`${replicas.url}/device/v1/link`);
    expect(stranger.status).toBe(401);
    expect(stranger.headers.get("www-authenticate")).toMatch(/^Bearer/);
    expect(await stranger.json()).toMatchObject({ code: "invalid_device_token" });
  });

  test("after failing too often from one address, except with a valid token or a key in use", async () => {
    const limited = await startTestServer({
      settings: { rateLimits: { perMinute: 0, authFailures: 3, shared: false } },
    });
    const url = await listen(limited);
    const { device } = await newDevice(url);
    const { gateway } = await replicas.newGateway({ url });
    const apiKey = limited.client(replicas.tenant.key);
    const listGroups = async () => (await apiKey.get("/tenants/groups")).status;
    expect(await listGroups()).toBe(200);
    for (const [agent, prefix] of [
      [device, "gatehouse_device_"],
      [gateway, "gatehouse_gateway_"],
    ] as const) {
      const { token } = agent;
      agent.token = `${prefix}${"0".repeat(49)}`;
      // The failures of the device's token count for the gateway's address as well.
      for (let count = 0; count < 3 && agent === device; count += 1) expect(await agent.connect()).toBe(401);
      expect(await agent.connect()).toBe(429);
      agent.token = `${prefix}${"0".repeat(48)}`;
      expect(await agent.connect()).toBe(429);
      // Failures of others behind the address do not lock out an agent with a valid token.
      agent.token = token;
      expect(await agent.connect()).toBe(101);
      await until("it is served", () => agent.content !== undefined);
    }
    expect(await limited.client(generateToken(tokenPrefixes.apiKey)).get("/tenants/groups")).toMatchObject({
      status: 429,
    });
    expect(await listGroups()).toBe(200);
    await limited.close();
  });
});

describe("a device that breaks the protocol is disconnected", () => {
  test.each<[string, (device: SimulatedDevice) => void]>([
    ["a text that is not JSON", (device) => device.sendText("{")],
    ["a frame of a gateway", (device) => device.sendText(JSON.stringify({ type: "whole" }))],
    ["a binary frame", (device) => device.sendText(Buffer.from([1, 2, 3]))],
    ["a second hello", (device) => device.sendHello()],
    ["a frame of a megabyte", (device) => device.sendText(" ".repeat(1024 * 1024))],
    [
      "an answer to what was not sent",
      (device) => device.send({ type: "applied", configuration: { generation: 1, issuedAt: 1, hash: "0".repeat(64) } }),
    ],
    [
      "too many frames",
      (device) => {
        for (let count = 0; count < 400; count += 1) device.heartbeat();
      },
    ],
    [
      "more data than any agent has to send",
      (device) => {
        const heartbeat = JSON.stringify({ type: "heartbeat", sequence: 1, gateways: [] });
        for (let count = 0; count < 24; count += 1) device.sendText(heartbeat + " ".repeat(200 * 1024));
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

test("a replica at its limit refuses devices before it looks up their tokens", async () => {
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

test("a gateway without a configured endpoint is reached at the address it connects from", async () => {
  const behindProxy = await startTestServer({ settings: { trustedProxies: ["127.0.0.1"] } });
  const url = await listen(behindProxy);
  const made = await replicas.client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "4500" });
  const gateway = new SimulatedGateway({ url, gatewayId: made.body.id, token: made.body.token });
  replicas.opened.push(gateway);
  await gateway.connect({}, { "x-forwarded-for": "203.0.113.9" });
  await grantAccess(made.body.id);
  const { device } = await newDevice();
  await device.connect();
  await until("it is found", () => device.content?.gateways[0]?.endpoint === "203.0.113.9:4500");
  await behindProxy.close();
});
