import { randomUUID } from "node:crypto";
import type { Challenge } from "@gatehouse/agent-protocol/link/key-proof";
import { afterEach, expect, test, vi } from "vitest";
import { storeClaimedKeys } from "../../features/enrolment/enrolment.api.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import type { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { until } from "../../testing/until.ts";
import { ConnectionRegistry } from "../channel/connection-registry.ts";
import { DesiredState } from "./desired-state.ts";

const replicas = linkedReplicas(2);
const read = async (id: string) => (await replicas.client.get(`/tenants/gateways/${id}`)).body;
const eventsOf = async (id: string) =>
  (await replicas.client.get(`/tenants/events?filter[target.id]=${id}&limit=100`)).body.data;

/** A gateway that has proved a key, and is ONLINE. */
async function provenGateway() {
  const { id, gateway } = await replicas.newGateway();
  const key = new SimulatedKey();
  gateway.useKey(key);
  await gateway.connect();
  await until("it is ONLINE", async () => (await read(id)).status === "ONLINE");
  await until("its key is stored", async () => (await read(id)).publicKeyProved === true);
  return { id, gateway, key };
}

const refusalsOf = async (id: string) =>
  (await eventsOf(id)).filter(({ operation }: { operation: string }) => operation === "refuseGatewayKey");

/** Holds up all updates of desired states from now on. @returns a function that lets them continue */
function holdUpdates(): () => void {
  const { refresh } = DesiredState.prototype;
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  vi.spyOn(DesiredState.prototype, "refresh").mockImplementation(async function (this: DesiredState) {
    await released;
    return refresh.call(this);
  });
  return () => release();
}

afterEach(() => void vi.restoreAllMocks());

async function isRefused(gateway: SimulatedGateway, id: string): Promise<void> {
  const before = gateway.goodbyes.length;
  await gateway.connect();
  await until("it is refused", () => gateway.goodbyes.length > before);
  expect(gateway.goodbyes.at(-1)).toMatchObject({ reason: "key_refused" });
  await until("it is in error", async () => {
    // While the server still takes the former link for open, a refusal is only an event. Agents try again.
    if (!gateway.isOpen) await gateway.connect();
    return (await read(id)).status === "ERROR";
  });
}

test("a gateway proves its key, and from then on has to", async () => {
  const { id, gateway, key } = await provenGateway();
  expect(await read(id)).toMatchObject({ publicKey: key.publicKey, publicKeyProved: true });
  expect(gateway.challenges).toMatchObject([{ type: "challenge", agent: id, tenant: replicas.tenant.id }]);
  gateway.cut();
  const older = replicas.agentWithToken(id, gateway.token);
  older.publicKey = key.publicKey;
  await isRefused(older, id);
  expect((await read(id)).error).toContain("does not prove it now");
  expect(await eventsOf(id)).toContainEqual(expect.objectContaining({ operation: "reportGatewayState" }));
  await gateway.connect();
  await until("it is ONLINE", async () => (await read(id)).status === "ONLINE");
});

test("an agent of version 1 keeps working with its key, and may not replace it", async () => {
  const { id, gateway } = await replicas.newGateway();
  await gateway.connect();
  await until("it is ONLINE", async () => (await read(id)).status === "ONLINE");
  expect((await read(id)).publicKeyProved).toBeUndefined();
  const { publicKey } = gateway;
  gateway.cut();
  gateway.publicKey = new SimulatedKey().publicKey;
  await isRefused(gateway, id);
  expect(await read(id)).toMatchObject({ publicKey, error: expect.stringContaining("key_refused") });
  gateway.publicKey = publicKey;
  await gateway.connect();
  await until("it is ONLINE", async () => (await read(id)).status === "ONLINE");
});

test("a key is replaced with a proof of the former key, or after a reset, once", async () => {
  const { id, gateway, key } = await provenGateway();
  const second = new SimulatedKey();
  const keyStored = (publicKey: string) =>
    until("the key is stored", async () => (await read(id)).publicKey === publicKey);
  gateway.cut();
  gateway.useKey(second);
  await isRefused(gateway, id);
  gateway.useKey(second, key);
  await gateway.connect();
  await keyStored(second.publicKey);
  // A former key counts once it is former, and not for ever.
  const third = new SimulatedKey();
  gateway.cut();
  gateway.useKey(third, key);
  await isRefused(gateway, id);
  const reset = await replicas.client.post(`/tenants/gateways/${id}/reset-key`);
  expect(reset.status, reset.text).toBe(200);
  expect(Date.parse(reset.body.keyResetUntil)).toBeGreaterThan(Date.now());
  expect(reset.body.publicKey).toBe(second.publicKey);
  await until("the new key is stored", async () => {
    if (!gateway.isOpen) await gateway.connect();
    return (await read(id)).publicKey === third.publicKey;
  });
  expect((await read(id)).keyResetUntil).toBeUndefined();
  expect(await eventsOf(id)).toContainEqual(expect.objectContaining({ operation: "resetGatewayKey" }));
  // Once this change is applied, the replica knows that the reset was used.
  await replicas.client.must.put(`/tenants/gateways/${id}/settings?wait=applied`, { resolvers: ["10.80.0.53"] });
  gateway.cut();
  gateway.useKey(new SimulatedKey());
  await isRefused(gateway, id);
});

test.each<[string, (made: { challenge: Challenge; earlier: Challenge; key: SimulatedKey }) => string]>([
  ["of an earlier link", ({ earlier, key }) => key.prove("gateway", earlier)],
  ["of another agent", ({ challenge, key }) => key.prove("gateway", { ...challenge, agent: randomUUID() })],
  ["for another tenant", ({ challenge, key }) => key.prove("gateway", { ...challenge, tenant: randomUUID() })],
  ["for a device's link", ({ challenge, key }) => key.prove("device", challenge)],
  ["with another nonce", ({ challenge, earlier, key }) => key.prove("gateway", { ...challenge, nonce: earlier.nonce })],
  ["in the role of a former key", ({ challenge, key }) => key.prove("gateway", challenge, key.publicKey, "previous")],
  ["by another key", ({ challenge, key }) => new SimulatedKey().prove("gateway", challenge, key.publicKey)],
  ["of zeros", () => `${"A".repeat(43)}=`],
])("refuses a proof %s", async (_, proofOf) => {
  const { id, gateway, key } = await provenGateway();
  const [earlier] = gateway.challenges;
  if (earlier === undefined) throw new Error("the gateway was not challenged");
  const thief = replicas.agentWithToken(id, gateway.token);
  gateway.cut();
  thief.useKey(key);
  thief.answerChallenge = (challenge) => thief.send({ type: "proof", proof: proofOf({ challenge, earlier, key }) });
  await isRefused(thief, id);
  expect((await read(id)).publicKey).toBe(key.publicKey);
});

test("a key of small order proves nothing", async () => {
  const { id, gateway } = await replicas.newGateway();
  gateway.useKey(new SimulatedKey());
  gateway.publicKey = `${"A".repeat(43)}=`;
  gateway.answerChallenge = () => gateway.send({ type: "proof", proof: `${"A".repeat(43)}=` });
  await isRefused(gateway, id);
});

test("a thief of the token with its own key does not disconnect the gateway", async () => {
  const { id, gateway, key } = await provenGateway();
  const thief = replicas.agentWithToken(id, gateway.token);
  thief.useKey(new SimulatedKey());
  await thief.connect();
  await until("the thief is refused", () => thief.goodbyes.length > 0);
  expect(thief.goodbyes).toMatchObject([{ reason: "key_refused" }]);
  expect(gateway.isOpen).toBe(true);
  expect(gateway.goodbyes).toEqual([]);
  await until("there is an event", async () => (await refusalsOf(id)).length > 0);
  expect((await refusalsOf(id))[0]).toMatchObject({ reason: expect.stringContaining(thief.publicKey) });
  // The gateway stays in service: otherwise, a thief could take it out of service.
  const record = await read(id);
  expect(record).toMatchObject({ publicKey: key.publicKey, status: "ONLINE" });
  expect(record.error).toBeFalsy();
  const before = (await refusalsOf(id)).length;
  thief.useKey(new SimulatedKey());
  await thief.connect();
  await until("the thief is refused again", () => thief.goodbyes.length > 1);
  await replicas.client.must.put(`/tenants/gateways/${id}/settings?wait=applied`, { resolvers: ["10.80.0.53"] });
  expect(await refusalsOf(id)).toHaveLength(before);
});

test("a thief's link that arrives during an update of its gateway is refused with an event", async () => {
  const { id, gateway } = await provenGateway();
  const release = holdUpdates();
  await replicas.client.must.put(`/tenants/gateways/${id}/settings`, { resolvers: ["10.80.0.53"] });
  await until("the update has begun", () => vi.mocked(DesiredState.prototype.refresh).mock.calls.length > 0);
  const arrive = vi.spyOn(ConnectionRegistry.prototype, "arrive");
  const thief = replicas.agentWithToken(id, gateway.token);
  thief.useKey(new SimulatedKey());
  await thief.connect();
  await until("it has proved its key", () => arrive.mock.calls.length > 0);
  release();
  await until("the thief is refused", () => thief.goodbyes.length > 0);
  expect(thief.goodbyes).toMatchObject([{ reason: "key_refused" }]);
  await until("there is an event", async () => (await refusalsOf(id)).length > 0);
  expect((await refusalsOf(id))[0]).toMatchObject({ reason: expect.stringContaining(thief.publicKey) });
});

test("many links of a thief do not end the agent's, even before the replica has loaded the tenant", async () => {
  const { id, gateway, key } = await provenGateway();
  gateway.cut();
  const release = holdUpdates();
  const arrive = vi.spyOn(ConnectionRegistry.prototype, "arrive");
  const arriving = async (own: SimulatedKey) => {
    const before = arrive.mock.calls.length;
    const opened = replicas.agentWithToken(id, gateway.token, replicas.otherUrl);
    opened.useKey(own);
    expect(await opened.connect()).toBe(101);
    await until("it arrives", () => arrive.mock.calls.length > before);
    return opened;
  };
  const agent = await arriving(key);
  for (let count = 0; count < 20; count += 1) await arriving(new SimulatedKey());
  release();
  await until("the agent is served", () => agent.content !== undefined);
  expect(agent.goodbyes).toEqual([]);
});

test("a reset that another replica stored ends a link with the former key", async () => {
  const { id, gateway, key } = await provenGateway();
  await replicas.client.must.post(`/tenants/gateways/${id}/reset-key`);
  const renewed = replicas.agentWithToken(id, gateway.token, replicas.otherUrl);
  const other = new SimulatedKey();
  renewed.useKey(other);
  await until("the other replica knows of the reset and takes the other key", async () => {
    if (!renewed.isOpen) await renewed.connect();
    return (await read(id)).publicKey === other.publicKey;
  });
  await until("the link with the former key is ended", () => gateway.goodbyes.length > 0);
  expect(gateway.isOpen).toBe(false);
  expect(gateway.publicKey).toBe(key.publicKey);
});

test.each<[string, (gateway: SimulatedGateway) => void]>([
  ["a heartbeat", (gateway) => gateway.heartbeat()],
  ["a second hello", (gateway) => gateway.sendHello()],
])("%s instead of a proof ends the link", async (_, send) => {
  const { gateway } = await replicas.newGateway();
  gateway.useKey(new SimulatedKey());
  gateway.answerChallenge = () => send(gateway);
  await gateway.connect();
  await until("the link is ended", () => gateway.goodbyes.length > 0);
  expect(gateway.goodbyes).toMatchObject([{ reason: "protocol" }]);
});

/** Creates a device with an enrolled key. */
async function newDevice() {
  const { body: user } = await replicas.client.post("/tenants/users", { email: `${randomUUID()}@example.com` });
  const key = new SimulatedKey();
  const { body: made, text } = await replicas.client.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: user.id,
    hardwareId: "HW",
    publicKey: key.publicKey,
  });
  expect(made.id, text).toBeDefined();
  const { token } = (await replicas.client.post(`/tenants/devices/${made.id}/rotate-token`)).body;
  const agent = () => {
    const { publicKey } = key;
    const device = new SimulatedDevice({ url: replicas.url, deviceId: made.id, token, publicKey });
    replicas.opened.push(device);
    return device;
  };
  return { made, key, token, agent };
}

test("a thief of a device's token with its own key does not disconnect the device", async () => {
  const { key, agent } = await newDevice();
  const device = agent();
  device.useKey(key);
  await device.connect();
  await until("it is served", () => device.content !== undefined);
  for (let count = 1; count <= 3; count += 1) {
    const thief = agent();
    thief.useKey(new SimulatedKey());
    await thief.connect();
    await until("the thief is refused", () => thief.goodbyes.length > 0);
    expect(thief.goodbyes).toMatchObject([{ reason: "other_key" }]);
  }
  device.heartbeat();
  await until("the device is still served", () => device.answers.length > 0);
  expect(device.goodbyes).toEqual([]);
});

test("a device's key is not stored after the token of its link was revoked", async () => {
  const { made, key, token } = await newDevice();
  await replicas.client.must.post(`/tenants/devices/${made.id}/reset-key`);
  const rotated = (await replicas.client.post(`/tenants/devices/${made.id}/rotate-token`)).body.token;
  const claim = { publicKey: new SimulatedKey().publicKey, proof: "valid", previousKey: undefined } as const;
  const store = async (presented: string) => {
    const tokenHash = hashToken(presented).toString("hex");
    const { runner } = replicas.server;
    await storeClaimedKeys(runner, replicas.tenant.id, [{ deviceId: made.id, tokenHash, claim }], new Date());
    return (await replicas.client.get(`/tenants/devices/${made.id}`)).body.publicKey;
  };
  expect(await store(token)).toBe(key.publicKey);
  expect(await store(rotated)).toBe(claim.publicKey);
});

test("a device's key is not replaced by a key in another encoding than the canonical one", async () => {
  const { made, key, token } = await newDevice();
  await replicas.client.must.post(`/tenants/devices/${made.id}/reset-key`);
  const bytes = Buffer.from(new SimulatedKey().publicKey, "base64");
  bytes[31] = (bytes[31] ?? 0) | 0x80;
  const claim = { publicKey: bytes.toString("base64"), proof: "valid", previousKey: undefined } as const;
  const claimed = [{ deviceId: made.id, tokenHash: hashToken(token).toString("hex"), claim }];
  await storeClaimedKeys(replicas.server.runner, replicas.tenant.id, claimed, new Date());
  const { body } = await replicas.client.get(`/tenants/devices/${made.id}`);
  expect(body.publicKey).toBe(key.publicKey);
});

test("a device proves its enrolled key, and replaces it with a proof or after a reset", async () => {
  const { made, key, agent } = await newDevice();
  const device = agent();
  const stored = async () => (await replicas.client.get(`/tenants/devices/${made.id}`)).body;
  const connects = async () => {
    device.welcome = undefined;
    await device.connect();
    await until("it is welcome", () => device.welcome !== undefined);
  };
  const refused = async () => {
    device.cut();
    const before = device.goodbyes.length;
    await device.connect();
    await until("it is refused", () => device.goodbyes.length > before);
    expect(device.goodbyes.at(-1)).toMatchObject({ reason: "other_key" });
  };
  device.useKey(key);
  await connects();
  expect(await stored()).toMatchObject({ publicKey: key.publicKey, publicKeyProved: true });
  // Without a proof of a key that was proved before.
  const older = agent();
  await older.connect();
  await until("it is refused", () => older.goodbyes.length > 0);
  expect(older.goodbyes).toMatchObject([{ reason: "other_key" }]);
  const second = new SimulatedKey();
  device.useKey(second);
  await refused();
  device.useKey(second, key);
  await connects();
  expect((await stored()).publicKey).toBe(second.publicKey);
  const third = new SimulatedKey();
  device.useKey(third);
  await refused();
  expect((await replicas.client.post(`/tenants/devices/${made.id}/reset-key`)).status).toBe(200);
  await until("the reset is known to the replica", async () => {
    device.cut();
    device.welcome = undefined;
    const before = device.goodbyes.length;
    await device.connect();
    await until("it is answered", () => device.welcome !== undefined || device.goodbyes.length > before);
    return device.welcome !== undefined;
  });
  expect(await stored()).toMatchObject({ publicKey: third.publicKey, publicKeyProved: true });
  expect((await stored()).keyResetUntil).toBeUndefined();
  const operations = (await eventsOf(made.id)).map(({ operation }: { operation: string }) => operation);
  expect(operations).toEqual(expect.arrayContaining(["resetDeviceKey", "reportDeviceKey"]));
  // A gateway's key is not free for a device.
  const { gateway } = await provenGateway();
  await replicas.client.must.post(`/tenants/devices/${made.id}/reset-key`);
  device.publicKey = gateway.publicKey;
  await refused();
});
