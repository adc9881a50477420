import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { unique } from "../../testing/operations/test-records.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { startTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";

let server: TestServer;
let url: string;
let client: TestClient;
const opened: SimulatedGateway[] = [];

beforeAll(async () => {
  server = await startTestServer();
  url = await server.app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(() => server.close());
beforeEach(async () => {
  ({ client } = await server.newTenant());
});
afterEach(() => {
  for (const gateway of opened.splice(0)) gateway.cut();
});

async function connected(wireguardPort = "51820", endpoint = "") {
  const { body } = await client.post("/tenants/gateways", { name: unique("Gateway"), wireguardPort, endpoint });
  const gateway = new SimulatedGateway({ url, gatewayId: body.id, token: body.token });
  opened.push(gateway);
  await gateway.connect();
  await until("the configuration arrives", () => gateway.content !== undefined);
  const put = (settings: object) => client.put(`/tenants/gateways/${body.id}/settings?wait=applied`, settings);
  return {
    id: body.id as string,
    gateway,
    put,
    settings: () => gateway.content && contentOf(gateway.content).settings,
  };
}

test("a gateway is told its resolvers as soon as they are set", async () => {
  const { put, settings } = await connected();
  const domains = [{ domain: "internal.example.com", resolvers: ["10.80.0.54"] }];
  const { headers } = await put({ resolvers: ["10.80.0.53"], domains });
  expect(headers["gatehouse-enforced"]).toMatch(/^applied;/);
  expect(settings()?.dns).toEqual({ resolvers: ["10.80.0.53"], domains });
});

test("a relay is told of gateways with a relay port and an endpoint that was set, but for its own port", async () => {
  const relay = await connected("51820", "relay.example.com");
  const target = await connected("51820", "192.0.2.7");
  const unfound = await connected();
  await target.put({ relayPort: "51901" });
  await unfound.put({ relayPort: "51902" });
  expect(relay.settings()?.relay).toBeUndefined();
  await client.post(`/tenants/gateways/${relay.id}/enable-relay?wait=applied`);
  const relayed = [{ listenPort: 51901, endpoint: "192.0.2.7:51820" }];
  expect(relay.settings()?.relay).toEqual(relayed);
  await client.put(`/tenants/gateways/${relay.id}?wait=applied`, { wireguardPort: "51901" });
  expect(relay.settings()?.relay).toEqual([]);
  await client.put(`/tenants/gateways/${relay.id}?wait=applied`, { wireguardPort: "51820" });
  expect(relay.settings()?.relay).toEqual(relayed);
  await client.post(`/tenants/gateways/${relay.id}/disable-relay?wait=applied`);
  expect(relay.settings()?.relay).toBeUndefined();
});

test("what its agent cannot do is told with what it enforces, until that is over", async () => {
  const { id, gateway } = await connected();
  const warnings = async () => (await client.get(`/tenants/gateways/${id}/sync`)).body.warnings;
  expect(await warnings()).toEqual([]);
  gateway.heartbeat({ warnings: ["Names are not answered."] });
  await until("it is told", async () => (await warnings()).length === 1);
  expect(await warnings()).toEqual(["Names are not answered."]);
  gateway.heartbeat();
  await until("it is over", async () => (await warnings()).length === 0);
});
