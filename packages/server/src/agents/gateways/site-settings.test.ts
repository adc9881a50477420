import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { expect, test } from "vitest";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import type { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();

interface Connected {
  readonly wireguardPort?: string;
  readonly endpoint?: string;
  /** The key of an agent of the latest version. Without it, the agent has version 1. */
  readonly key?: SimulatedKey;
}

async function connected({ wireguardPort = "51820", endpoint = "", key }: Connected = {}) {
  const { client } = replicas;
  const { id, gateway } = await replicas.newGateway({}, { wireguardPort, endpoint });
  if (key !== undefined) gateway.useKey(key);
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

test("a gateway limits private names to their blocks, or to its networks if it has any", async () => {
  const { client } = replicas;
  const { id, put, settings, gateway } = await connected({ key: new SimulatedKey() });
  const older = await connected();
  const protocols = (await client.get("/tenants/protocols")).body;
  const [ssh] = protocols.filter(({ name }: { name: string }) => name === "SSH");
  const addresses = ["one.example.com", "two.example.com"].map((address) => ({ address, protocols: [ssh.id] }));
  const { body: resource } = await client.must.post("/tenants/resources", {
    name: "Names",
    type: "PRIVATE",
    addresses,
  });
  for (const each of [id, older.id]) await client.must.put(`/tenants/resources/${resource.id}/gateways/${each}`);
  const policy = { name: "Names", type: "PRIVATE", action: true, allUsers: true, resources: [resource.id] };
  await client.must.post("/tenants/policies?wait=applied", policy);
  const at = ({ content }: SimulatedGateway) => {
    const { destinations } = contentOf(content ?? expect.fail("the gateway has no configuration"));
    return addresses.map(({ address }) => destinations[address]);
  };
  const answers = () => at(gateway).map((destination) => destination?.answers);
  const open = at(older.gateway)[1];
  expect(open?.services).toHaveLength(1);
  expect(answers()).toEqual([undefined, undefined]);
  const limited = { address: "one.example.com", protocols: [ssh.id], answersWithin: ["10.1.0.0/16"] };
  const path = `/tenants/addresses/${resource.addresses[0].id}?wait=applied`;
  expect((await client.must.put(path, limited)).headers["gatehouse-enforced"]).toMatch(/^applied;/);
  expect(answers()).toEqual([["10.1.0.0/16"], undefined]);
  const networks = ["10.0.0.0/8", "fd00::/8"];
  await put({ networks });
  await older.put({ networks: ["172.16.0.0/12"] });
  expect(answers()).toEqual([["10.1.0.0/16"], "networks"]);
  expect(settings()?.dns.networks).toEqual(networks);
  // An older agent does not know limits: a limited name is closed, and the default changes nothing.
  expect(at(older.gateway)).toEqual([{ services: [], otherwise: "drop" }, open]);
  expect(older.settings()?.dns).not.toHaveProperty("networks");
  // An empty list says that no other site reaches networks here, not that the gateway has no services.
  await put({ networks: [] });
  expect(answers()).toEqual([["10.1.0.0/16"], undefined]);
  expect(settings()?.dns).not.toHaveProperty("networks");
});

test("a relay receives the gateways with a relay port and a configured endpoint, except at its own port", async () => {
  const relay = await connected({ endpoint: "relay.example.com" });
  const target = await connected({ endpoint: "192.0.2.7" });
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
