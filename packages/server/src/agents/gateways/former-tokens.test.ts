/** Tokens that were rotated, and WireGuard keys that a gateway or device may introduce. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { storeGatewayReports } from "../../features/gateways/gateways.api.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import type { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();
const read = async (id: string) => (await replicas.client.get(`/tenants/gateways/${id}`)).body;
const reset = (id: string) => replicas.client.must.post(`/tenants/gateways/${id}/reset-key`);
/** Returns the new token. The former one stays valid for a day. */
const rotate = async (id: string): Promise<string> =>
  (await replicas.client.must.post(`/tenants/gateways/${id}/rotate-token`)).body.token;

const agentWith = (id: string, token: string, key: SimulatedKey): SimulatedGateway => {
  const agent = replicas.agentWithToken(id, token);
  agent.useKey(key);
  return agent;
};

async function isAdmitted(agent: SimulatedGateway, id: string): Promise<void> {
  await until("the key is stored", async () => {
    if (!agent.isOpen) await agent.connect();
    return (await read(id)).publicKey === agent.publicKey;
  });
  await until("it is ONLINE", async () => (await read(id)).status === "ONLINE");
  expect(agent.isOpen).toBe(true);
}

/** Connects until the replica knows of the reset, and refuses the key because of the token. */
async function isRefused(agent: SimulatedGateway, id: string): Promise<void> {
  await until("it is refused because of its token", async () => {
    if (!agent.isOpen) await agent.connect();
    const { error, publicKey } = await read(id);
    if (publicKey === agent.publicKey) throw new Error("the key was stored");
    return error?.includes("with a token that was rotated") === true;
  });
  for (const goodbye of agent.goodbyes) expect(goodbye).toMatchObject({ reason: "key_refused" });
  expect(await read(id)).toMatchObject({ status: "ERROR", error: expect.stringMatching(/^key_refused: /) });
}

/** A gateway with a proved key, whose agent has lost its link. */
async function provenGateway() {
  const { id, gateway } = await replicas.newGateway();
  const key = new SimulatedKey();
  gateway.useKey(key);
  await isAdmitted(gateway, id);
  await replicas.cut(id, gateway);
  return { id, key, token: gateway.token };
}

test("after a reset, a former token does not introduce a key, and the current token does", async () => {
  const { id, key, token } = await provenGateway();
  const newest = await rotate(id);
  await reset(id);
  await isRefused(agentWith(id, token, new SimulatedKey()), id);
  expect((await read(id)).publicKey).toBe(key.publicKey);
  expect((await read(id)).keyResetUntil).toBeDefined();
  await isAdmitted(agentWith(id, newest, new SimulatedKey()), id);
  expect((await read(id)).keyResetUntil).toBeUndefined();
});

test("a former token that was current at the reset does not introduce a key", async () => {
  const { id, key, token } = await provenGateway();
  await reset(id);
  await rotate(id);
  await isRefused(agentWith(id, token, new SimulatedKey()), id);
  expect((await read(id)).publicKey).toBe(key.publicKey);
});

test("a former token replaces the known key with a proof of it, so that a replaced key is not locked out", async () => {
  const { id, key, token } = await provenGateway();
  await rotate(id);
  const replacing = replicas.agentWithToken(id, token);
  replacing.useKey(new SimulatedKey(), key);
  await isAdmitted(replacing, id);
  await replicas.cut(id, replacing);
  // Without a proof of the known key, it is refused.
  const thief = agentWith(id, token, new SimulatedKey());
  await thief.connect();
  await until("the thief is refused", () => thief.goodbyes.length > 0);
  expect(thief.goodbyes).toMatchObject([{ reason: "key_refused" }]);
  expect((await read(id)).publicKey).toBe(replacing.publicKey);
});

test("a former token keeps the agent with the known key connected, even after a reset", async () => {
  const { id, key, token } = await provenGateway();
  await rotate(id);
  const agent = agentWith(id, token, key);
  await isAdmitted(agent, id);
  await reset(id);
  await replicas.client.must.put(`/tenants/gateways/${id}/settings?wait=applied`, { resolvers: ["10.80.0.53"] });
  expect(agent.goodbyes).toEqual([]);
  await replicas.cut(id, agent);
  const returning = agentWith(id, token, key);
  await isAdmitted(returning, id);
  expect((await read(id)).keyResetUntil).toBeDefined();
});

test("after a reset, a former token does not replace the key with a proof of the known key", async () => {
  const { id, key, token } = await provenGateway();
  await rotate(id);
  const replacing = replicas.agentWithToken(id, token);
  replacing.useKey(new SimulatedKey(), key);
  await isAdmitted(replacing, id);
  await replicas.cut(id, replacing);
  await reset(id);
  const thief = replicas.agentWithToken(id, token);
  thief.useKey(new SimulatedKey(), key);
  await isRefused(thief, id);
  expect((await read(id)).publicKey).toBe(replacing.publicKey);
});

test("without a rotation, the only token introduces a key after a reset", async () => {
  const { id, token } = await provenGateway();
  await reset(id);
  await isAdmitted(agentWith(id, token, new SimulatedKey()), id);
});

test("a former token does not introduce the first key of a gateway", async () => {
  const { id, gateway } = await replicas.newGateway();
  const newest = await rotate(id);
  await isRefused(agentWith(id, gateway.token, new SimulatedKey()), id);
  expect((await read(id)).publicKey).toBeUndefined();
  await isAdmitted(agentWith(id, newest, new SimulatedKey()), id);
});

test("a key is not stored if the token of its link was rotated since the hello", async () => {
  const { id, key, token } = await provenGateway();
  await reset(id);
  const claim = { publicKey: new SimulatedKey().publicKey, proof: "valid", previousKey: undefined } as const;
  const store = async (presented: string) => {
    const report = { gatewayId: id, tokenHash: hashToken(presented).toString("hex"), key: claim };
    await storeGatewayReports(replicas.server.runner, replicas.tenant.id, [report], new Date());
    return (await read(id)).publicKey;
  };
  const newest = await rotate(id);
  expect(await store(token)).toBe(key.publicKey);
  expect((await read(id)).error).toContain("with a token that was rotated");
  expect(await store(newest)).toBe(claim.publicKey);
});

test("a rotated token of a device ends at once, so only the new token introduces a key after a reset", async () => {
  const { client } = replicas;
  const { body: user } = await client.must.post("/tenants/users", { email: `${randomUUID()}@example.com` });
  const key = new SimulatedKey();
  const fields = { name: unique("Laptop"), userId: user.id, hardwareId: "HW", publicKey: key.publicKey };
  const { id } = (await client.must.post("/tenants/devices", fields)).body;
  const newToken = async () => (await client.must.post(`/tenants/devices/${id}/rotate-token`)).body.token;
  const agentOf = (token: string, own: SimulatedKey) => {
    const device = new SimulatedDevice({ url: replicas.url, deviceId: id, token, publicKey: own.publicKey });
    replicas.opened.push(device);
    device.useKey(own);
    return device;
  };
  const former = await newToken();
  const newest = await newToken();
  await client.must.post(`/tenants/devices/${id}/reset-key`);
  expect(await agentOf(former, new SimulatedKey()).connect()).toBe(401);
  const fresh = new SimulatedKey();
  const device = agentOf(newest, fresh);
  expect(await device.connect()).toBe(101);
  await until("it is welcome", () => device.welcome !== undefined);
  expect((await client.get(`/tenants/devices/${id}`)).body.publicKey).toBe(fresh.publicKey);
});
