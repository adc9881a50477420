/** Links of devices that the server refuses or ends. */
import { describe, expect, test } from "vitest";
import { generateToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { linkedDevices } from "../../testing/linked-devices.ts";
import { linkedReplicas, listen } from "../../testing/linked-replicas.ts";
import { make, makeId, publicKey } from "../../testing/operations/test-records.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas(2);
const { newDevice, rotate, connected } = linkedDevices(replicas);

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
