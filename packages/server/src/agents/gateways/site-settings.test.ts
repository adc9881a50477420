import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { expect, test } from "vitest";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();

async function connected(wireguardPort = "51820", endpoint = "") {
  const { client } = replicas;
  const { id, gateway } = await replicas.newGateway({}, { wireguardPort, endpoint });
  await gateway.connect();
  await until("the configuration arrives", () => gateway.content !== undefined);
  const put = (settings: object) => client.put(`/tenants/gateways/${id}/settings?wait=applied`, settings);
  return {
    id,
    gateway,
    put,
    settings: () => gateway.content && contentOf(gateway.content).settings,
  };
}

test("a gateway receives its resolvers as soon as they are set", async () => {
  const { put, settings } = await connected();
  const domains = [{ domain: "internal.example.com", resolvers: ["10.80.0.54"] }];
  const { headers } = await put({ resolvers: ["10.80.0.53"], domains });
  expect(headers["gatehouse-enforced"]).toMatch(/^applied;/);
  expect(settings()?.dns).toEqual({ resolvers: ["10.80.0.53"], domains });
});

test("a relay receives the gateways with a relay port and a configured endpoint, except at its own port", async () => {
  const relay = await connected("51820", "relay.example.com");
  const target = await connected("51820", "192.0.2.7");
  const unfound = await connected();
  await target.put({ relayPort: "51901" });
  await unfound.put({ relayPort: "51902" });
  expect(relay.settings()?.relay).toBeUndefined();
  await replicas.client.must.post(`/tenants/gateways/${relay.id}/enable-relay?wait=applied`);
  const relayed = [{ listenPort: 51901, endpoint: "192.0.2.7:51820" }];
  expect(relay.settings()?.relay).toEqual(relayed);
  await replicas.client.must.put(`/tenants/gateways/${relay.id}?wait=applied`, { wireguardPort: "51901" });
  expect(relay.settings()?.relay).toEqual([]);
  await replicas.client.must.put(`/tenants/gateways/${relay.id}?wait=applied`, { wireguardPort: "51820" });
  expect(relay.settings()?.relay).toEqual(relayed);
  await replicas.client.must.post(`/tenants/gateways/${relay.id}/disable-relay?wait=applied`);
  expect(relay.settings()?.relay).toBeUndefined();
});

test("the warnings of an agent are shown with its sync state until they end", async () => {
  const { id, gateway } = await connected();
  const warnings = async () => (await replicas.client.get(`/tenants/gateways/${id}/sync`)).body.warnings;
  expect(await warnings()).toEqual([]);
  gateway.heartbeat({ warnings: ["Names are not answered."] });
  await until("the warning is shown", async () => (await warnings()).length === 1);
  expect(await warnings()).toEqual(["Names are not answered."]);
  gateway.heartbeat();
  await until("the warning ended", async () => (await warnings()).length === 0);
});
