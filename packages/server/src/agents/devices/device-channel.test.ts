import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { describe, expect, test } from "vitest";
import { block, linkedDevices } from "../../testing/linked-devices.ts";
import { linkedReplicas, listen } from "../../testing/linked-replicas.ts";
import { publicKey, unique } from "../../testing/operations/test-records.ts";
import { sha256 } from "../../testing/simulated-agent.ts";
import type { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas(2);
const { newDevice, newGateway, grantAccess, connected } = linkedDevices(replicas);

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
