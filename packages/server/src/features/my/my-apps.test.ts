import { beforeAll, beforeEach, expect, test } from "vitest";
import { evaluationLimits } from "../../platform/evaluation/evaluation-budgets.ts";
import { proveNewKey } from "../../testing/new-wireguard-key.ts";
import { makeId, unique } from "../../testing/operations/test-records.ts";
import { activeUser, signInAs } from "../../testing/signed-in-person.ts";
import { SimulatedKey } from "../../testing/simulated-agent.ts";
import { startTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let ann: Person;

interface Person {
  readonly id: string;
  readonly client: TestClient;
}

async function person(email: string): Promise<Person> {
  const { id } = await activeUser(server, tenant, email);
  // A command, so that the models of replicas follow.
  await tenant.client.must.patch(`/tenants/users/${id}`, { maxDevices: 3 });
  return { id, client: server.client(undefined, await signInAs(server, tenant.id, id)) };
}

beforeAll(async () => {
  server = await startTestServer();
  return () => server.close();
});

beforeEach(async () => {
  tenant = await server.newTenant();
  ann = await person("ann@example.com");
});

async function addPhone({ client }: Person = ann, name = "Phone") {
  const { body } = await client.must.post("/tenants/my/devices", { name, ...(await proveNewKey(client)) });
  return body;
}

const add = async (answer: object) => ann.client.post("/tenants/my/devices", { name: "Phone", ...answer });
const settings = (body: object) => tenant.client.must.put("/tenants/settings", body);
const minutes = (count: number) => new Date(Date.now() - count * 60_000);

async function resource(name: string, address: string): Promise<string> {
  const { body: protocols } = await tenant.client.must.get("/tenants/protocols");
  const all = protocols.find(({ type }: { type: string }) => type === "ALL").id;
  const body = { name, type: "PRIVATE", addresses: [{ address, protocols: [all] }] };
  return (await tenant.client.must.post("/tenants/resources", body)).body.id;
}

async function rule(text: string): Promise<string> {
  const body = { name: unique("Rule"), rule: text, hasTimeConstraint: false };
  return (await tenant.client.must.post("/tenants/admission-rules", body)).body.id;
}

const policy = (body: object) =>
  tenant.client.must.post("/tenants/policies", { name: unique("Policy"), type: "PRIVATE", action: true, ...body });

test("a person adds a phone, which runs no agent and whose key is proved", async () => {
  const phone = await addPhone();
  expect(phone).toMatchObject({ name: "Phone", active: true, agent: false, publicKeyProved: true, tags: [] });
  expect(phone.user.id).toBe(ann.id);
  expect(phone.posture).toBeUndefined();
  expect(phone.session).toMatchObject({ methods: ["hwk", "user"] });
  const { body: events } = await tenant.client.must.get(`/tenants/events?filter[target.id]=${phone.id}`);
  expect(events.data).toMatchObject([{ operation: "addMyDevice", actor: { id: ann.id } }]);
  const { body: laptop } = await tenant.client.must.get(`/tenants/devices/${await makeId("device", tenant.client)}`);
  expect(laptop).not.toHaveProperty("agent");
});

test("the key must be proved: by its owner, for this person, in time", async () => {
  const bob = await person("bob@example.com");
  const key = new SimulatedKey();
  const answer = await proveNewKey(ann.client, key);
  const other = new SimulatedKey();
  const refused = [
    { ...answer, publicKey: other.publicKey },
    { ...answer, proof: (await proveNewKey(ann.client, key)).proof },
    { ...answer, ticket: (await proveNewKey(ann.client, key)).ticket },
    { ...answer, ticket: `A${answer.ticket}` },
    { ...answer, ticket: "x" },
    await proveNewKey(bob.client, key),
    { ...answer, publicKey: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" },
  ];
  for (const each of refused) {
    expect(await add(each)).toMatchObject({ status: 422, body: { code: "key_not_proved" } });
  }
  expect((await ann.client.must.get("/tenants/my/devices")).body).toEqual([]);
  expect((await add(answer)).status).toBe(201);
});

test("a challenge expires after ten minutes", async () => {
  const late = new Date(Date.now() + 11 * 60_000);
  const { createKeyChallenge, isKeyProved } = await import("./my-key-challenge.ts");
  const box = server.runner.secrets.signInChallenges;
  const [owner, key] = [{ tenantId: tenant.id, userId: ann.id }, new SimulatedKey()];
  const { ticket, ephemeralKey, nonce } = createKeyChallenge(box, owner, key.publicKey, new Date());
  const challenge = { type: "challenge", tenant: tenant.id, agent: ann.id, ephemeralKey, nonce } as const;
  const answer = { ticket, publicKey: key.publicKey, proof: key.prove("app", challenge) };
  expect(isKeyProved(box, owner, answer, new Date())).toBe(true);
  expect(isKeyProved(box, owner, answer, late)).toBe(false);
  // A proof for the link of an agent is not one for an app.
  expect(isKeyProved(box, owner, { ...answer, proof: key.prove("device", challenge) }, new Date())).toBe(false);
});

test("the device limit, and the approval of administrators, apply", async () => {
  await settings({ deviceApproval: "administrator" });
  expect(await addPhone()).toMatchObject({ active: false, approval: "pending" });
  await addPhone(ann, "Tablet");
  await addPhone(ann, "Laptop");
  expect(await add(await proveNewKey(ann.client))).toMatchObject({
    status: 409,
    body: { code: "device_limit_reached" },
  });
});

test("adding a device and signing in need a recent authentication", async () => {
  const phone = await addPhone();
  const old = server.client(undefined, await signInAs(server, tenant.id, ann.id, { authTime: minutes(20) }));
  const answer = await proveNewKey(old);
  const refused = { status: 401, body: { code: "recent_authentication_required" } };
  expect(await old.post("/tenants/my/devices", { name: "Tablet", ...answer })).toMatchObject(refused);
  expect(await old.post(`/tenants/my/devices/${phone.id}/sign-in`)).toMatchObject(refused);
});

test("the person's sign-in renews a session that sign-out everywhere has ended", async () => {
  await settings({ deviceSessionLifetime: 3600 });
  const phone = await addPhone();
  expect(phone.session.endsAt).toBeDefined();
  await tenant.client.must.delete(`/tenants/users/${ann.id}/sessions`);
  const again = server.client(undefined, await signInAs(server, tenant.id, ann.id));
  expect((await again.must.get("/tenants/my/devices")).body[0].session.ended).toBe(true);
  const { body } = await again.must.post(`/tenants/my/devices/${phone.id}/sign-in`);
  expect(body.session.ended).toBeUndefined();
  expect(Date.parse(body.session.endsAt)).toBeGreaterThan(Date.now() + 3_500_000);
});

test("a deactivated device, one with the agent, and another person's get no session", async () => {
  const phone = await addPhone();
  await tenant.client.must.patch(`/tenants/devices/${phone.id}/deactivate`);
  const signIn = (id: string) => ann.client.post(`/tenants/my/devices/${id}/sign-in`);
  expect(await signIn(phone.id)).toMatchObject({ status: 409, body: { code: "device_deactivated" } });
  const bob = await person("bob@example.com");
  const his = await addPhone(bob);
  expect((await signIn(his.id)).status).toBe(404);
  expect((await ann.client.get(`/tenants/my/devices/${his.id}/configuration`)).status).toBe(404);
});

test("rules can demand the agent, and the person learns that", async () => {
  const wiki = await resource("Wiki", "10.1.0.1");
  await policy({ users: [ann.id], resources: [wiki], rule: await rule("device.agent") });
  const phone = await addPhone();
  const explain = async (device: string) =>
    (await ann.client.must.post("/tenants/my/access/explanation", { to: wiki, device })).body;
  expect(await explain(phone.id)).toMatchObject({ reachable: false, missing: [{ kind: "agent_required" }] });
  const laptop = { name: "Laptop", userId: ann.id, hardwareId: "1", publicKey: new SimulatedKey().publicKey };
  const { body: enrolled } = await tenant.client.must.post("/tenants/devices", laptop);
  // Only the gateway is missing.
  expect(await explain(enrolled.id)).toMatchObject({ missing: [{ kind: "no_gateway" }] });
});

test("a person with a WireGuard app learns once that several conditions require the agent", async () => {
  const wiki = await resource("Wiki", "10.1.0.1");
  const both = await rule("device.agent && device.posture.diskEncrypted == true");
  await policy({ users: [ann.id], resources: [wiki], rule: both });
  const { body } = await ann.client.must.post("/tenants/my/access/explanation", {
    to: wiki,
    device: (await addPhone()).id,
  });
  expect(body.missing).toEqual([{ kind: "agent_required" }]);
});

test("a person with a WireGuard app learns that a rule on the posture requires the agent", async () => {
  const wiki = await resource("Wiki", "10.1.0.1");
  await policy({ users: [ann.id], resources: [wiki], rule: await rule("device.posture.diskEncrypted == true") });
  const phone = await addPhone();
  const explain = async (device: object) =>
    (await ann.client.must.post("/tenants/my/access/explanation", { to: wiki, ...device })).body.missing;
  expect(await explain({ device: phone.id })).toEqual([{ kind: "agent_required" }]);
  expect(await explain({})).toEqual([{ kind: "device_required" }]);
});

test("reverting a removal brings the device back without the agent", async () => {
  const phone = await addPhone();
  const { headers } = await ann.client.must.delete(`/tenants/my/devices/${phone.id}`);
  const event = headers["gatehouse-event"];
  expect((await tenant.client.must.post(`/tenants/events/${event}/revert`, {})).status).toBeLessThan(300);
  const { body } = await ann.client.must.get("/tenants/my/devices");
  expect(body).toMatchObject([{ name: "Phone", agent: false, publicKey: phone.publicKey }]);
});

test("the configuration has a stable address, and no gateway without access", async () => {
  const phone = await addPhone();
  const read = async () => (await ann.client.must.get(`/tenants/my/devices/${phone.id}/configuration`)).body;
  const configuration = await read();
  expect(configuration).toMatchObject({ device: phone.id, gateways: [] });
  expect(configuration.ipv4).toMatch(/^100\./);
  await ann.client.must.patch(`/tenants/my/devices/${phone.id}`, { name: "Tablet" });
  expect(await read()).toEqual(configuration);
});

test("routes are computed within the evaluation budgets of the person and of the tenant", async () => {
  const limits = { ...evaluationLimits, unitsPerRequest: 20 };
  const limited = await startTestServer({ settings: { evaluationLimits: limits } });
  try {
    const other = await limited.newTenant();
    const { id: userId } = await activeUser(limited, other, "bob@example.com");
    await other.client.must.patch(`/tenants/users/${userId}`, { maxDevices: 3 });
    const laptop = { name: "Laptop", userId, hardwareId: "1", publicKey: new SimulatedKey().publicKey };
    const { body } = await other.client.must.post("/tenants/devices", laptop);
    const client = limited.client(undefined, await signInAs(limited, other.id, userId));
    const refused = { body: { code: "evaluation_too_expensive" } };
    expect(await client.get(`/tenants/my/devices/${body.id}/configuration`)).toMatchObject(refused);
    expect(await other.client.get(`/tenants/devices/${body.id}/configuration`)).toMatchObject(refused);
  } finally {
    await limited.close();
  }
});
