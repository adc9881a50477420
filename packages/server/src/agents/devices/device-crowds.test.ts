import { afterAll, beforeAll, expect, test } from "vitest";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { makeDevices } from "../../testing/link-rows.queries.ts";
import { make, publicKey, unique } from "../../testing/operations/test-records.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

const block = "10.20.30.0/24";
let server: TestServer;
let url: string;
const opened: { cut(): void }[] = [];

beforeAll(async () => {
  server = await startTestServer();
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  for (const end of opened) end.cut();
  await server.close();
});

/** Creates many devices of one active user with statements, because requests would take too long. */
async function crowd({ id: tenantId, client }: TestTenant, count: number): Promise<SimulatedDevice[]> {
  const { user } = await make("device", client);
  const known = Array.from({ length: count }, () => ({
    token: generateToken(tokenPrefixes.device),
    publicKey: publicKey(),
  }));
  const rows = known.map(({ token, publicKey: key }) => ({ tokenHash: hashToken(token), publicKey: key }));
  const ids = await makeDevices(server, tenantId, user.id, rows);
  const devices = known.map((one, index) => new SimulatedDevice({ url, deviceId: ids[index] ?? "", ...one }));
  opened.push(...devices);
  return devices;
}

async function newGateway({ client }: TestTenant, endpoint: string): Promise<string> {
  const made = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820", endpoint });
  const { id, token } = made.body;
  const gateway = new SimulatedGateway({ url, gatewayId: id, token });
  opened.push(gateway);
  await gateway.connect();
  await until("it is ONLINE", async () => (await client.get(`/tenants/gateways/${id}`)).body.status === "ONLINE");
  return id;
}

test("three hundred devices that connect, fail over and reconnect at once are all served", async () => {
  const tenant = await server.newTenant();
  const { client } = tenant;
  const gateways = [await newGateway(tenant, "198.51.100.1"), await newGateway(tenant, "198.51.100.2")];
  const resource = await client.post("/tenants/resources", {
    name: unique("Resource"),
    type: "PRIVATE",
    addresses: [{ address: block, protocols: [] }],
  });
  await client.must.post(`/tenants/resources/${resource.body.id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways,
  });
  await client.must.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    allUsers: true,
    allResources: true,
  });
  const devices = await crowd(tenant, 300);
  expect(new Set(await Promise.all(devices.map((device) => device.connect())))).toEqual(new Set([101]));
  const all = (gateway: string | undefined) => () => devices.every((device) => device.routeTo(block) === gateway);
  await until("each has its route", all(gateways[0]), 60_000);
  expect(new Set(devices.map(({ content }) => content?.ipv4)).size).toBe(300);

  await client.must.post(`/tenants/gateways/${gateways[0]}/enter-maintenance`);
  await until("each has a route through the other gateway", all(gateways[1]), 60_000);
  const isSettled = () => server.deviceLinks.state.unsettled === 0;
  await until("each has applied it", isSettled, 60_000);

  for (const device of devices) device.cut();
  const sent = devices.map((device) => device.sent);
  await Promise.all(devices.map((device) => device.connect()));
  for (const device of devices) device.heartbeat();
  await until("each is answered", () => devices.every(({ answers }) => answers.length > 0), 60_000);
  await until("each is known", () => server.deviceLinks.state.connections === 300 && isSettled(), 60_000);
  // They have the desired configurations.
  expect(devices.map((device) => device.sent)).toEqual(sent);
});
