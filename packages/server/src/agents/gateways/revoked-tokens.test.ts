import { expect, test, vi } from "vitest";
import { storeGatewayReports } from "../../features/gateways/gateways.api.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { until } from "../../testing/until.ts";
import { DesiredState } from "./desired-state.ts";

const replicas = linkedReplicas(2);
const read = async (id: string) => (await replicas.client.get(`/tenants/gateways/${id}`)).body;

/** Ends all earlier tokens at once. @returns the new token */
async function rotate(id: string): Promise<string> {
  const { status, body, text } = await replicas.client.post(`/tenants/gateways/${id}/rotate-token`, {
    graceSeconds: 0,
  });
  expect(status, text).toBe(200);
  return body.token;
}

/** An agent with a token and a key. Its link is open, and it has not said hello. */
async function silentAgent(id: string, token: string, key: SimulatedKey, url: string) {
  const agent = replicas.agentWithToken(id, token, url);
  agent.useKey(key);
  expect(await agent.open()).toBe(101);
  return agent;
}

test.each([
  ["the same replica", () => replicas.url],
  ["another replica", () => replicas.otherUrl],
])("a link that is open before a rotation cannot take a new gateway on %s", async (_, url) => {
  const { id, gateway } = await replicas.newGateway();
  const thief = await silentAgent(id, gateway.token, new SimulatedKey(), url());
  const token = await rotate(id);
  thief.sendHello({ endpoint: "198.51.100.66:4444" });
  await until("the thief is answered", () => thief.goodbyes.length > 0 || thief.content !== undefined);
  expect(thief.goodbyes).toMatchObject([{ reason: "token_revoked" }]);
  expect(thief.content).toBeUndefined();
  const rightful = replicas.agentWithToken(id, token);
  const key = new SimulatedKey();
  rightful.useKey(key);
  await rightful.connect();
  await until("the rightful agent's key is stored", async () => (await read(id)).publicKey === key.publicKey);
  expect(rightful.goodbyes).toEqual([]);
});

test("a link that is open before a rotation does not replace the agent's link, even with its key", async () => {
  const { id, gateway } = await replicas.newGateway();
  const key = new SimulatedKey();
  gateway.useKey(key);
  await gateway.connect();
  await until("its key is stored", async () => (await read(id)).publicKeyProved === true);
  const thief = await silentAgent(id, gateway.token, key, replicas.url);
  const rightful = replicas.agentWithToken(id, await rotate(id));
  rightful.useKey(key);
  await rightful.connect();
  await until("the agent is served with its new token", () => rightful.content !== undefined);
  thief.sendHello();
  await until("the thief is answered", () => thief.goodbyes.length > 0 || thief.content !== undefined);
  expect(thief.goodbyes).toMatchObject([{ reason: "token_revoked" }]);
  rightful.heartbeat();
  await until("the agent is still served", () => rightful.answers.length > 0);
  expect(rightful.goodbyes).toEqual([]);
});

test("a reset of a key cannot be used with a token that was revoked before", async () => {
  // The replica learns of the reset from the outbox while another gateway of the tenant is connected.
  const other = await replicas.newGateway();
  await other.gateway.connect();
  const { id, gateway } = await replicas.newGateway();
  gateway.useKey(new SimulatedKey());
  await gateway.connect();
  await until("its key is stored", async () => (await read(id)).publicKeyProved === true);
  await replicas.cut(id, gateway);
  const thief = await silentAgent(id, gateway.token, new SimulatedKey(), replicas.url);
  const token = await rotate(id);
  await replicas.client.must.post(`/tenants/gateways/${id}/reset-key`);
  await replicas.client.must.put(`/tenants/gateways/${other.id}/settings?wait=applied`, { resolvers: ["10.80.0.53"] });
  thief.sendHello();
  await until("the thief is answered", () => thief.goodbyes.length > 0 || thief.content !== undefined);
  expect(thief.goodbyes).toMatchObject([{ reason: "token_revoked" }]);
  const renewed = replicas.agentWithToken(id, token);
  const key = new SimulatedKey();
  renewed.useKey(key);
  await renewed.connect();
  await until("the new key is stored", async () => (await read(id)).publicKey === key.publicKey);
});

test("a link that is open before a rotation does not replace the agent's link with a key of its own", async () => {
  const { id, gateway } = await replicas.newGateway();
  gateway.useKey(new SimulatedKey());
  await gateway.connect();
  await until("its key is stored", async () => (await read(id)).publicKeyProved === true);
  const thief = await silentAgent(id, gateway.token, new SimulatedKey(), replicas.url);
  await replicas.client.must.post(`/tenants/gateways/${id}/rotate-token`);
  await replicas.client.must.post(`/tenants/gateways/${id}/reset-key`);
  await replicas.client.must.put(`/tenants/gateways/${id}/settings?wait=applied`, { resolvers: ["10.80.0.53"] });
  const rightful = (await replicas.rowOf(id))?.connection_id;
  thief.sendHello();
  await until("the thief is answered", () => thief.goodbyes.length > 0 || thief.content !== undefined);
  expect(thief.goodbyes).toMatchObject([{ reason: "key_refused" }]);
  expect((await replicas.rowOf(id))?.connection_id).toBe(rightful);
  await replicas.client.must.put(`/tenants/gateways/${id}/settings?wait=applied`, { resolvers: ["10.80.0.54"] });
  expect(gateway.goodbyes).toEqual([]);
  expect((await read(id)).publicKey).toBe(gateway.publicKey);
});

test("an agent stays connected if its token is rotated after its first key was stored, during an update", async () => {
  const other = await replicas.newGateway();
  await other.gateway.connect();
  const { id, gateway } = await replicas.newGateway();
  gateway.useKey(new SimulatedKey());
  await replicas.client.must.put(`/tenants/gateways/${other.id}/settings?wait=applied`, { resolvers: ["10.80.0.53"] });
  const refresh = DesiredState.prototype.refresh;
  let hasRead = false;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = vi.spyOn(DesiredState.prototype, "refresh").mockImplementation(async function (this: DesiredState) {
    const refreshed = await refresh.call(this);
    if (!refreshed.named.includes(id)) return refreshed;
    hasRead = true;
    await released;
    return refreshed;
  });
  try {
    await replicas.client.must.put(`/tenants/gateways/${id}/settings`, { resolvers: ["10.80.0.53"] });
    await until("the keys are read", () => hasRead);
    await gateway.connect();
    await until("its key is stored", async () => (await read(id)).publicKey === gateway.publicKey);
    await replicas.client.must.post(`/tenants/gateways/${id}/rotate-token`);
  } finally {
    held.mockRestore();
    release();
  }
  await replicas.client.must.put(`/tenants/gateways/${id}/settings?wait=applied`, { resolvers: ["10.80.0.54"] });
  expect(gateway.goodbyes).toEqual([]);
});

test("what an agent said is not stored after its token was revoked", async () => {
  const { id, gateway } = await replicas.newGateway();
  const { runner } = replicas.server;
  const said = {
    gatewayId: id,
    key: { publicKey: new SimulatedKey().publicKey, proof: "valid", previousKey: undefined },
    endpoint: "198.51.100.66:4444",
    heardAt: new Date(),
  } as const;
  const store = (token: string) => {
    const tokenHash = hashToken(token).toString("hex");
    return storeGatewayReports(runner, replicas.tenant.id, [{ ...said, tokenHash }], new Date());
  };
  const token = await rotate(id);
  await store(gateway.token);
  expect((await read(id)).publicKey).toBeUndefined();
  expect((await read(id)).status).toBe("PENDING");
  await store(token);
  expect((await read(id)).publicKey).toBe(said.key.publicKey);
});

test("a link ends after a rotation although an update of the tenant is in progress", async () => {
  const other = await replicas.newGateway();
  const { id, gateway } = await replicas.newGateway();
  gateway.useKey(new SimulatedKey());
  await gateway.connect();
  await until("the agent is served", () => gateway.content !== undefined);
  let proceed = () => {};
  const held = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const { evaluator } = replicas.server.runner;
  const decide = evaluator.decide.bind(evaluator);
  const slow = vi.spyOn(evaluator, "decide").mockImplementation(async (tenantId, work) => {
    await held;
    return decide(tenantId, work);
  });
  try {
    await replicas.client.must.put(`/tenants/gateways/${other.id}/settings`, { resolvers: ["10.80.0.53"] });
    await until("an update is in progress", () => slow.mock.calls.length > 0);
    await rotate(id);
    await until("the link ends", () => gateway.goodbyes.length > 0);
    expect(gateway.goodbyes).toMatchObject([{ reason: "token_revoked" }]);
  } finally {
    proceed();
    slow.mockRestore();
  }
});
