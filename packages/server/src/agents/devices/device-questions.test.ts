/** Questions of devices about their own access, and the end of the session in their configurations. */
import type { DeviceAnswer } from "@gatehouse/agent-protocol/device/frames";
import { expect, test } from "vitest";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { make, unique } from "../../testing/operations/test-records.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { SimulatedDevice } from "../../testing/simulated-device.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas();

async function newDevice(version: 1 | 3 = 3) {
  const key = new SimulatedKey();
  const user = await make("user", replicas.client);
  const made = await replicas.client.post("/tenants/devices", {
    name: unique("Laptop"),
    userId: user.id,
    hardwareId: unique("Serial"),
    publicKey: key.publicKey,
  });
  expect(made.status, made.text).toBe(201);
  const { id } = made.body;
  const { body } = await replicas.client.post(`/tenants/devices/${id}/rotate-token`);
  const device = new SimulatedDevice({
    url: replicas.url,
    deviceId: id,
    token: body.token,
    publicKey: key.publicKey,
  });
  if (version === 3) device.useKey(key);
  replicas.opened.push(device);
  expect(await device.connect()).toBe(101);
  await until("it has a configuration", () => device.content !== undefined);
  return { id: id as string, userId: user.id as string, device };
}

/** Creates a resource that a policy opens to a user, behind a gateway in service. */
async function newResource(userId: string | undefined, fields: object = {}) {
  const { id: gatewayId, gateway } = await replicas.newGateway({}, { endpoint: "198.51.100.1" });
  await gateway.connect();
  await until("it is ONLINE", async () => {
    return (await replicas.client.get(`/tenants/gateways/${gatewayId}`)).body.status === "ONLINE";
  });
  const name = unique("Git");
  const resource = await replicas.client.post("/tenants/resources", {
    name,
    type: "PRIVATE",
    addresses: [{ address: "10.20.30.7", protocols: [] }],
    ...fields,
  });
  expect(resource.status, resource.text).toBe(201);
  const { id } = resource.body;
  await replicas.client.must.post(`/tenants/resources/${id}/loadBalancing`, {
    loadBalancingMode: "MANUAL",
    gateways: [gatewayId],
  });
  const policy = await replicas.client.post("/tenants/policies", {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    ...(userId === undefined ? {} : { users: [userId] }),
    resources: [id],
  });
  expect(policy.status, policy.text).toBe(201);
  return { id: id as string, name, policyId: policy.body.id as string };
}

/** Asks once the device may ask again. */
async function ask(device: SimulatedDevice, to: string): Promise<DeviceAnswer | undefined> {
  await until("the device may ask", () => Date.now() - (askedAt.get(device) ?? 0) > 1_000);
  askedAt.set(device, Date.now());
  const { length } = device.explained;
  device.question(to);
  await until("it is answered", () => device.explained.length > length);
  const answer = device.explained.at(-1);
  // The previous question may have arrived late.
  return answer?.outcome === "failed" ? ask(device, to) : answer;
}
const askedAt = new WeakMap<SimulatedDevice, number>();

test("a device asks by name, id or address, and learns the ports of what it can reach", async () => {
  const { device, userId } = await newDevice();
  const protocols: readonly { readonly id: string; readonly name: string }[] = (
    await replicas.client.get("/tenants/protocols")
  ).body;
  const ssh = protocols.filter((protocol) => protocol.name === "SSH").map((protocol) => protocol.id);
  const { id, name } = await newResource(userId, { addresses: [{ address: "10.20.30.7", protocols: ssh }] });
  for (const to of [name, id, "10.20.30.7"]) {
    const answer = await ask(device, to);
    expect(answer).toMatchObject({ outcome: "reachable", resource: { id, name }, reasons: [] });
    expect(answer?.resource?.addresses).toEqual([{ address: "10.20.30.7", tcp: ["22-22"] }]);
  }
});

test("says that another resource determines the gateway of an address", async () => {
  const { device, userId } = await newDevice();
  const shared = [{ address: "10.20.30.8", protocols: [] }];
  const wiki = await newResource(userId, { addresses: shared });
  const git = await newResource(userId, { addresses: [...shared, { address: "10.20.30.80", protocols: [] }] });
  const vault = await newResource(userId, { addresses: shared });
  const text = expect.stringContaining(`Packets to 10.20.30.8 go to a gateway of "${wiki.name}"`);
  const reasons = [{ kind: "other_gateway", text }];
  expect(await ask(device, vault.name)).toMatchObject({ outcome: "unavailable", reasons });
  expect(await ask(device, git.name)).toMatchObject({ outcome: "reachable", reasons });
  expect(await ask(device, "10.20.30.80")).toMatchObject({ outcome: "reachable", reasons: [] });
  expect(await ask(device, wiki.name)).toMatchObject({ outcome: "reachable", reasons: [] });
});

test("says that another resource determines the gateway of all addresses, although only some are listed", async () => {
  const { device, userId } = await newDevice();
  const shared = Array.from({ length: 21 }, (_, index) => ({ address: `10.20.31.${index}`, protocols: [] }));
  await newResource(userId, { addresses: shared });
  const git = await newResource(userId, { addresses: shared });
  const answer = await ask(device, git.name);
  expect([answer?.outcome, answer?.reasons.length]).toEqual(["unavailable", 20]);
});

test("says whether access to a resource without addresses is allowed", async () => {
  const { device, userId } = await newDevice();
  const open = await newResource(userId, { addresses: [] });
  expect(await ask(device, open.name)).toMatchObject({ outcome: "reachable", reasons: [] });
  const body = { name: unique("Rule"), rule: 'device.os == "none"', hasTimeConstraint: false };
  const { id: rule } = (await replicas.client.must.post("/tenants/admission-rules", body)).body;
  await replicas.client.must.patch(`/tenants/policies/${open.policyId}`, { rule });
  expect(await ask(device, open.name)).toMatchObject({ outcome: "blocked", reasons: [{ kind: "condition" }] });
});

test("says why something is blocked, and nothing about what belongs to others", async () => {
  const { device, userId, id } = await newDevice();
  const { name, policyId } = await newResource(userId);
  const other = await make("user", replicas.client);
  const secret = await newResource(other.id as string, { addresses: [{ address: "10.20.30.9", protocols: [] }] });
  const nothing = { outcome: "blocked", reasons: [{ kind: "not_granted", text: expect.stringContaining("Nothing") }] };
  for (const to of [secret.name, secret.id, "10.20.30.9", "no such thing"]) {
    const { number: _, type, ...answer } = (await ask(device, to)) ?? {};
    expect([type, answer]).toEqual(["answer", nothing]);
  }
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  expect(await ask(device, name)).toMatchObject(nothing);
  await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
  await replicas.client.must.patch(`/tenants/devices/${id}/deactivate`);
  expect(await ask(device, name)).toMatchObject({
    outcome: "blocked",
    resource: { name },
    reasons: [{ kind: "device_deactivated" }],
  });
});

test("answers one question a second, and refuses the others without evaluating them", async () => {
  const { device } = await newDevice();
  for (let count = 0; count < 5; count += 1) device.question("Git");
  await until("all are answered", () => device.explained.length === 5);
  const outcomes = device.explained.map(({ outcome }) => outcome).sort();
  expect(outcomes).toEqual(["blocked", "failed", "failed", "failed", "failed"]);
  expect(device.explained.find(({ outcome }) => outcome === "failed")?.reasons[0]?.text).toContain(
    "Too many questions",
  );
});

test.each([{ to: "" }, { to: "a".repeat(256) }, { to: 7 }, { number: -1, to: "a" }])(
  "a question with %o violates the protocol",
  async (fields) => {
    const { device } = await newDevice();
    device.send({ type: "question", number: 1, ...fields } as never); // invalid on purpose
    await until("it is sent away", () => device.goodbyes.at(-1)?.reason === "protocol");
  },
);

test("a configuration has the end of the session, for agents that know it, even after the end", async () => {
  const { device, id, userId } = await newDevice();
  const old = await newDevice(1);
  const { name } = await newResource(userId);
  expect(device.content).not.toHaveProperty("sessionEndsAt");
  await replicas.client.must.put("/tenants/settings", { deviceSessionLifetime: 3_600 });
  await until("the end is sent", () => device.content?.sessionEndsAt !== undefined);
  const { endsAt } = (await replicas.client.get(`/tenants/devices/${id}`)).body.session;
  expect(device.content?.sessionEndsAt).toBe(Date.parse(endsAt));
  expect((await replicas.client.get(`/tenants/devices/${id}/configuration`)).body).toEqual(device.content);
  await replicas.client.must.delete(`/tenants/users/${userId}/sessions`);
  await until("the routes are gone", () => device.content?.gateways.length === 0);
  expect(device.content?.sessionEndsAt).toBeLessThanOrEqual(Date.now());
  expect(await ask(device, name)).toMatchObject({ outcome: "blocked", reasons: [{ kind: "session_ended" }] });
  expect(old.device.goodbyes).toEqual([]);
  expect(old.device.content).not.toHaveProperty("sessionEndsAt");
});
