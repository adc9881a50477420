/**
 * A device from its enrolment on the command line to its tunnel, against a complete server. Only the kernel is missing.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { systemClock } from "@gatehouse/agent-core/clock";
import { HostResolver } from "@gatehouse/agent-core/dns/host-resolver";
import { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { runHere } from "../../packages/cli/src/testing/run-here.ts";
import { DeviceFolder } from "../../packages/device/src/configuration/device-folder.ts";
import { DeviceAgent } from "../../packages/device/src/device-agent.ts";
import { DeviceLink } from "../../packages/device/src/link/device-link.ts";
import { RecordingTunnel } from "../../packages/device/src/testing/recording-tunnel.ts";
import { unique } from "../../packages/server/src/testing/operations/test-records.ts";
import { SimulatedGateway } from "../../packages/server/src/testing/simulated-gateway.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../../packages/server/src/testing/test-server.ts";
import { until } from "../../packages/server/src/testing/until.ts";

let server: TestServer;
let url: string;
let state: string;
const opened: (() => unknown)[] = [];

beforeAll(async () => {
  server = await sharedTestServer();
  url = await server.listen();
  state = await mkdtemp(path.join(tmpdir(), "gatehouse-device-"));
});
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});
afterAll(async () => {
  await rm(state, { recursive: true, force: true });
});

async function newGateway(client: TestClient, endpoint: string) {
  const made = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort: "51820", endpoint });
  expect(made.status, made.text).toBe(201);
  const { id, token } = made.body;
  const gateway = new SimulatedGateway({ url, gatewayId: id, token });
  opened.push(() => gateway.cut());
  await gateway.connect();
  await until("it is ONLINE", async () => (await client.get(`/tenants/gateways/${id}`)).body.status === "ONLINE");
  return { id: id as string, publicKey: gateway.publicKey };
}

test("a device is enrolled, connected, moved to another gateway, and deactivated", async () => {
  const { client, key } = await server.newTenant();
  const [one, two] = [await newGateway(client, "198.51.100.1"), await newGateway(client, "198.51.100.2")];
  const resource = await client.post("/tenants/resources", {
    name: unique("Resource"),
    type: "PRIVATE",
    addresses: [{ address: "10.20.30.0/24", protocols: [] }],
  });
  const { id } = resource.body;
  await client.must.post(`/tenants/resources/${id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [one.id, two.id],
  });
  const open = { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true, resources: [id] };
  expect((await client.post("/tenants/policies", open)).status).toBe(201);

  const api = ["--url", url, "--api-key", key, "--state-folder", state];
  const who = ["--user", "owner@example.com", "--hardware-id", "SERIAL-1", "--name", "Laptop"];
  const enrolled = await runHere(["device", "enrol", ...who, ...api]);
  expect(enrolled.code, enrolled.errors).toBe(0);
  const folder = new DeviceFolder(state);
  const { device = "", token = "" } = (await folder.enrolment()) ?? {};

  const tunnel = new RecordingTunnel();
  const log = () => {};
  const hosts = new HostResolver(systemClock);
  const names = new ResolvedNames();
  const agent = new DeviceAgent({ device, url, tunnel, folder, names, hosts, clock: systemClock, log });
  await agent.start();
  opened.push(() => agent.stop());
  const link = new DeviceLink({
    url,
    token: () => Promise.resolve(token),
    device,
    agent,
    state: { trust: agent.pinned, used: agent.signed },
    keys: await folder.keys(),
    agentVersion: "1",
    clock: systemClock,
    log,
  });
  link.start();
  opened.push(() => link.stop());

  const carrier = () =>
    [...(tunnel.wanted?.peers ?? [])].find(([, { allowedIps }]) => allowedIps.includes("10.20.30.0/24"))?.[0];
  await until("the first gateway carries the traffic", () => carrier() === one.publicKey);
  const printed = await runHere(["device", "config", ...api]);
  expect(printed.output).toContain("Endpoint = 198.51.100.1:51820");
  expect(printed.output).toContain(`PrivateKey = ${await folder.privateKey()}`);
  const maintenance = await client.post(`/tenants/gateways/${one.id}/enter-maintenance`);
  expect(maintenance.status, maintenance.text).toBeLessThan(300);
  await until("the other gateway carries the traffic", () => carrier() === two.publicKey);
  await client.must.patch(`/tenants/devices/${device}/deactivate`);
  await until("no gateway carries the traffic", () => tunnel.wanted?.peers.size === 0);
});
