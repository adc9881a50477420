import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAccessNetwork, created } from "../../testing/access-network.ts";
import { publicKey, unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestReply, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
let client: TestClient;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;
/** A test that contractors never reach Git. */
let contractors: string;
let denied: { id: string; name: string };

beforeAll(async () => {
  server = await sharedTestServer();
});

beforeEach(async () => {
  const tenant = await server.newTenant();
  client = tenant.client;
  network = await createAccessNetwork(server, tenant);
  const groups = (await client.get("/tenants/groups?filter[name]=Contractors")).body.data;
  contractors = groups[0].id;
  denied = await enforce({ subject: { type: "group", id: contractors }, expected: "denied" });
});

const path = "/tenants/access-tests";

async function enforce(fields: object) {
  const resource = { type: "resource", id: network.git.id };
  const reply = await client.post(path, { name: unique("Test"), enforced: true, resource, ...fields });
  expect(reply.status, reply.text).toBe(201);
  return { id: String(reply.body.id), name: String(reply.body.name) };
}

const why = { "gatehouse-override-reason": "An incident" };

async function effectOf(reply: TestReply) {
  return (await client.get(`/tenants/events/${reply.headers["gatehouse-event"]}/effect`)).body;
}

function expectRefused(reply: TestReply, ...tests: readonly { readonly id: string }[]) {
  expect({ status: reply.status, code: reply.body?.code }, reply.text).toEqual({
    status: 409,
    code: "access_tests_broken",
  });
  expect(reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(
    tests.map(({ id }) => `${path}/${id}`),
  );
}

describe("a write that grants access", () => {
  const writes: [string, () => Promise<TestReply>][] = [
    ["deactivates a denying policy", () => client.patch(`/tenants/policies/${network.denying.id}/deactivate`)],
    ["deletes one", () => client.delete(`/tenants/policies/${network.denying.id}`)],
    ["takes the resource out of one", () => client.patch(`/tenants/policies/${network.denying.id}`, { resources: [] })],
    ["makes it allow", () => client.patch(`/tenants/policies/${network.denying.id}`, { action: true })],
    [
      "puts an allowing policy before it",
      () =>
        client.post("/tenants/policies/reorder", {
          type: "PRIVATE",
          policies: [network.allowing.id, network.denying.id],
        }),
    ],
    [
      "applies a configuration",
      async () => {
        const { policies } = (await client.get("/tenants/configuration")).body;
        const PRIVATE = policies.PRIVATE.filter(({ name }: { name: string }) => name === network.allowing.name);
        return client.post("/tenants/configuration/apply", { version: 1, policies: { ...policies, PRIVATE } });
      },
    ],
  ];

  test.each(writes)(
    "is refused when it %s, and changes nothing; with a reason it goes through",
    async (_what, write) => {
      const before = await client.get("/tenants/configuration");
      const refused = await write();
      expectRefused(refused, denied);
      expect(refused.body.detail).toContain(denied.name);
      expect(refused.body.errors[0].message).toContain(`${network.bob.email} with Laptop of ${network.bob.email}`);
      expect((await client.get("/tenants/configuration")).headers.etag).toBe(before.headers.etag);
    },
  );

  test("is reported in a preview", async () => {
    const request = { method: "PATCH", path: `/tenants/policies/${network.denying.id}/deactivate` };
    const reply = await client.post("/tenants/policies/preview", { changes: [request] });
    expect(reply.body.brokenTests).toMatchObject([
      { ...denied, enforced: true, brokenCount: 1, broken: [{ user: { id: network.bob.id }, level: "sometimes" }] },
    ]);
  });

  test("succeeds with a reason, which is stored with the broken tests", async () => {
    const done = await client.send("PATCH", `/tenants/policies/${network.denying.id}/deactivate`, undefined, why);
    expect(done.status, done.text).toBe(200);
    expect(await effectOf(done)).toMatchObject({
      overrideReason: "An incident",
      brokenTests: [{ ...denied, brokenCount: 1 }],
    });
    // The test is already broken, so it blocks no further change.
    const again = await client.post("/tenants/users", {
      email: uniqueEmail(),
      groups: [contractors, network.engineers.id],
    });
    expect(again.status, again.text).toBe(201);
    expect((await effectOf(again)).brokenTests).toEqual([]);
  });

  test("is refused for its effect on a group, a user, a device, a rule or an address", async () => {
    const { ann, allowing, git } = network;
    const never = await enforce({
      subject: { type: "everyone" },
      device: { posture: { diskEncrypted: false } },
      expected: "denied",
    });
    const rules = (await client.get("/tenants/admission-rules")).body;
    const rule = rules.find(({ name }: { name: string }) => name === "Encrypted disk");
    const open = { rule: "true", hasTimeConstraint: false };
    expectRefused(await client.put(`/tenants/admission-rules/${rule.id}`, open), never);
    // Only the rule excludes Ann's other devices.
    const web = await enforce({
      subject: { type: "user", id: ann.id },
      resource: { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 443 } },
      expected: "denied",
    });
    const protocols = (await client.get("/tenants/protocols")).body;
    const https = protocols.find(({ name }: { name: string }) => name === "HTTPS").id;
    const [address] = (await client.get(`/tenants/resources/${git.id}`)).body.addresses;
    const ids = [...address.protocols.map(({ id }: { id: string }) => id), https];
    // The level of access to the whole resource stays the same, although somebody reaches more.
    expectRefused(
      await client.put(`/tenants/addresses/${address.id}`, { address: address.address, protocols: ids }),
      web,
    );
    const own = await enforce({
      subject: { type: "device", id: ann.device },
      device: "any",
      expected: "denied",
      resource: { type: "resource", id: network.wiki.id },
    });
    expectRefused(await client.patch(`/tenants/policies/${allowing.id}`, { allResources: true }), own);
  });

  test("is refused if the rule no longer reads the posture that the test names", async () => {
    const never = await enforce({
      subject: { type: "group", id: network.engineers.id },
      device: { posture: { diskEncrypted: false } },
      expected: "denied",
    });
    const rules = (await client.get("/tenants/admission-rules")).body;
    const rule = rules.find(({ name }: { name: string }) => name === "Encrypted disk");
    const other = { rule: "device.posture.osUpToDate == true", hasTimeConstraint: false };
    expectRefused(await client.put(`/tenants/admission-rules/${rule.id}`, other), never);
  });

  test("is refused for many users at once, and names some of them", async () => {
    const none = await enforce({
      subject: { type: "group", id: contractors },
      resource: { type: "resource", id: network.wiki.id },
      expected: "denied",
    });
    const users = Array.from({ length: 14 }, () => ({ email: uniqueEmail(), groups: [contractors] }));
    expect((await client.post("/tenants/users", users)).status).toBe(201);
    const invited = (await client.get("/tenants/users?limit=100")).body.data;
    for (const { id, status, email } of invited) {
      if (status !== "pending") continue;
      const device = { name: `Of ${email}`, userId: id, hardwareId: "SERIAL-9", publicKey: publicKey() };
      expect((await client.post("/tenants/devices", device)).status).toBe(201);
    }
    const policy = { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true, allResources: true };
    const reply = await client.post("/tenants/policies", policy);
    expectRefused(reply, none);
    expect(reply.body.errors[0].message).toMatch(/would have access: (\S+( with [^,]+)?, ){10}\d+ more$/);
  });
});

describe("a write that only removes access", () => {
  let reaching: { id: string; name: string };
  beforeEach(async () => {
    reaching = await enforce({
      // The engineers do not qualify: Bob is an engineer and a contractor.
      subject: { type: "user", id: network.ann.id },
      context: { time: "2026-01-31T12:00:00Z" },
      resource: { type: "address", id: "git.example.com" },
      expected: "allowed",
      device: { posture: { diskEncrypted: true } },
    });
  });
  test.each<[string, () => Promise<TestReply>]>([
    ["deactivates a policy", () => client.patch(`/tenants/policies/${network.allowing.id}/deactivate`)],
    ["deletes one", () => client.delete(`/tenants/policies/${network.allowing.id}`)],
    [
      "denies",
      () => client.patch(`/tenants/policies/${network.denying.id}`, { groups: [contractors, network.engineers.id] }),
    ],
    [
      "takes somebody out of a group",
      async () => {
        const other = (await client.post("/tenants/groups", { name: "Others", roles: [] })).body.id;
        expect((await client.post(`/tenants/users/${network.ann.id}/groups`, { groupId: other })).status).toBe(201);
        return client.delete(`/tenants/users/${network.ann.id}/groups/${network.engineers.id}`);
      },
    ],
  ])("is never held up when it %s, and says what it broke", async (_what, write) => {
    const done = await write();
    expect(done.status, done.text).toBeLessThan(300);
    expect(await effectOf(done)).toMatchObject({ gained: { pairs: 0 }, brokenTests: [reaching] });
    const { body } = await client.post(`${path}/check`, { ids: [reaching.id] });
    expect(body.tests[0].state.holds).toBe(false);
  });

  test.each<[string, () => Promise<TestReply>]>([
    ["deactivates whom it asks about", () => client.patch(`/tenants/users/${network.ann.id}/deactivate`)],
    ["deletes whom it asks about", () => client.delete(`/tenants/users/${network.ann.id}`)],
  ])("breaks nothing when it %s", async (_what, write) => {
    const done = await write();
    expect(done.status, done.text).toBeLessThan(300);
    expect((await effectOf(done)).brokenTests).toEqual([]);
  });
});

describe("gains that no level of access shows", () => {
  async function protocolId(name: string): Promise<string> {
    const protocols = (await client.get("/tenants/protocols")).body;
    return protocols.find((protocol: { name: string }) => protocol.name === name).id;
  }

  async function openResource(): Promise<string> {
    const all = [await protocolId("All protocols")];
    const body = {
      name: unique("Open"),
      type: "PRIVATE",
      addresses: [{ address: "10.20.0.0/16", protocols: all }],
    };
    const { id } = await created(client, "/tenants/resources", body);
    const policy = { name: unique("Policy"), type: "PRIVATE", action: true, allUsers: true, resources: [id] };
    await created(client, "/tenants/policies", policy);
    return String(id);
  }

  test("refuses an address that takes over traffic to a resource", async () => {
    const open = await openResource();
    const https = [await protocolId("HTTPS")];
    const { id: closed } = await created(client, "/tenants/resources", {
      name: unique("Closed"),
      type: "PRIVATE",
      addresses: [{ address: "10.30.0.0/16", protocols: https }],
    });
    const host = await enforce({
      subject: { type: "everyone" },
      resource: { type: "address", id: "10.30.0.5" },
      expected: "denied",
    });
    const address = { address: "10.30.0.5", protocols: https };
    expectRefused(await client.post(`/tenants/resources/${open}/addresses`, address), host);
    // A deletion grants no access, whichever resource owns the addresses then.
    const done = await client.delete(`/tenants/resources/${closed}`);
    expect(done.status, done.text).toBe(204);
  });

  test("refuses other source addresses and other protocols instead of the expected ones", async () => {
    const open = await openResource();
    const [policy] = (await client.get("/tenants/policies?sort=-createdAt&limit=1")).body.data;
    const office = { sourceIps: ["192.0.2.0/24", "198.51.100.0/24"] };
    expect((await client.patch(`/tenants/policies/${policy.id}`, office)).status).toBe(200);
    const fromOffice = await enforce({
      subject: { type: "user", id: network.ann.id },
      resource: { type: "address", id: "10.20.0.5", properties: { protocol: "TCP", port: 22 } },
      context: { sourceIp: "192.0.2.1" },
      expected: "allowed",
    });
    const elsewhere = { sourceIps: ["203.0.113.0/24"] };
    expectRefused(await client.patch(`/tenants/policies/${policy.id}`, elsewhere), fromOffice);
    const [address] = (await client.get(`/tenants/resources/${open}`)).body.addresses;
    const shrunk = await client.put(`/tenants/addresses/${address.id}`, {
      address: "10.20.0.0/16",
      protocols: [await protocolId("SSH")],
    });
    expect(shrunk.status, shrunk.text).toBe(200);
    const swapped = { address: "10.20.0.0/16", protocols: [await protocolId("HTTPS")] };
    expectRefused(await client.put(`/tenants/addresses/${address.id}`, swapped), fromOffice);
    const narrower = await client.patch(`/tenants/policies/${policy.id}`, { sourceIps: ["198.51.100.0/24"] });
    expect(narrower.status, narrower.text).toBe(200);
    expect((await effectOf(narrower)).brokenTests).toMatchObject([fromOffice]);
  });
});

describe("a test that is to be enforced", () => {
  const broken = () => ({
    name: unique("Test"),
    subject: { type: "user", id: network.ann.id },
    resource: { type: "resource", id: network.git.id },
    expected: "denied",
  });

  test("must hold, unless the caller gives a reason", async () => {
    const refused = await client.post(path, { ...broken(), enforced: true });
    expect(refused).toMatchObject({
      status: 409,
      body: { code: "access_tests_broken", errors: [{ pointer: "/enforced" }] },
    });
    const forced = await client.post(path, { ...broken(), enforced: true }, why);
    expect(forced.status, forced.text).toBe(201);
    const [entry] = (await client.get("/tenants/events?sort=-createdAt&limit=1")).body.data;
    expect(entry).toMatchObject({ operation: "createAccessTest", reason: "An incident" });
  });

  test("is checked when its question changes, but not when only its name changes", async () => {
    const { id } = (await client.post(path, broken())).body;
    const refused = async (body: object) => (await client.put(`${path}/${id}`, body)).status === 409;
    expect(await refused({ enforced: true })).toBe(true);
    expect(await refused({ enforced: true, resource: { type: "resource", id: network.wiki.id } })).toBe(false);
    expect(await refused({ resource: { type: "resource", id: network.git.id } })).toBe(true);
    expect(await refused({ name: unique("Test"), description: "Another." })).toBe(false);
    expect(await refused({ enforced: false, resource: { type: "resource", id: network.git.id } })).toBe(false);
    expect((await client.put(`${path}/${id}`, { enforced: true }, why)).status).toBe(200);
    expect(await refused({ name: unique("Test") })).toBe(false);
  });

  test("and a write that would break it never both go through", async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      const user = (await client.post("/tenants/users", { email: uniqueEmail(), groups: [contractors] })).body.id;
      const device = { name: "Laptop", userId: user, hardwareId: "SERIAL-3", publicKey: publicKey() };
      expect((await client.post("/tenants/devices", device)).status).toBe(201);
      const wiki = { type: "resource", id: network.wiki.id };
      const policy = {
        name: unique("Policy"),
        type: "PRIVATE",
        action: true,
        users: [user],
        resources: [network.wiki.id],
      };
      const [enforced, written] = await Promise.all([
        client.post(path, {
          name: unique("Test"),
          enforced: true,
          subject: { type: "user", id: user },
          resource: wiki,
          expected: "denied",
        }),
        client.post("/tenants/policies", policy),
      ]);
      expect([enforced.status, written.status].sort()).toEqual([201, 409]);
    }
  });
});

test("one of two concurrent writes that break a test only together succeeds", async () => {
  const user = (await client.post("/tenants/users", { email: uniqueEmail() })).body.id;
  const device = { name: "Laptop", userId: user, hardwareId: "SERIAL-4", publicKey: publicKey() };
  expect((await client.post("/tenants/devices", device)).status).toBe(201);
  const group = (await client.post("/tenants/groups", { name: "New", roles: [] })).body.id;
  await enforce({
    subject: { type: "user", id: user },
    resource: { type: "resource", id: network.wiki.id },
    expected: "denied",
  });
  const policy = {
    name: unique("Policy"),
    type: "PRIVATE",
    action: true,
    groups: [group],
    resources: [network.wiki.id],
  };
  const replies = await Promise.all([
    client.post("/tenants/policies", policy),
    client.post(`/tenants/users/${user}/groups`, { groupId: group }),
  ]);
  expect(replies.map(({ status }) => status).sort()).toEqual([201, 409]);
});
