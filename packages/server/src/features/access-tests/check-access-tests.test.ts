import { beforeAll, describe, expect, test } from "vitest";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { make, unique } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
let client: TestClient;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  client = tenant.client;
  network = await createAccessNetwork(server, tenant);
});

const path = "/tenants/access-tests";
const early = { time: "2026-01-31T12:00:00Z" };
const git = (properties: object = {}) => ({ type: "resource", id: network.git.id, properties });

async function stateOf(asked: object) {
  const reply = await client.post(`${path}/check`, { test: { resource: git(), ...asked } });
  expect(reply.status, reply.text).toBe(200);
  expect(reply.body.tests).toHaveLength(1);
  return reply.body.tests[0].state;
}

describe("a test that is not stored", () => {
  test("holds for principals with the expected access", async () => {
    const { ann } = network;
    expect(await stateOf({ subject: { type: "user", id: ann.id }, context: early, expected: "allowed" })).toEqual({
      holds: true,
      asked: 1,
      brokenCount: 0,
      broken: [],
    });
  });

  test("reports who breaks the test, how far, and by which policy", async () => {
    const { ann, engineers, allowing } = network;
    const open = await stateOf({ subject: { type: "group", id: engineers.id }, expected: "denied" });
    expect(open).toEqual({
      holds: false,
      asked: 4,
      brokenCount: 1,
      broken: [
        {
          user: { id: ann.id, name: ann.email },
          device: { id: ann.device, name: `Laptop of ${ann.email}` },
          level: "sometimes",
          policy: allowing,
        },
      ],
    });
  });

  test("covers addresses of resources and hypothetical devices", async () => {
    const { ann } = network;
    const asked = { subject: { type: "user", id: ann.id }, context: early, expected: "allowed" };
    const brokenFor = async (fields: object) => (await stateOf({ ...asked, ...fields })).brokenCount;
    expect(await brokenFor({ resource: git({ protocol: "TCP", port: 22 }) })).toBe(0);
    expect(await brokenFor({ resource: git({ protocol: "TCP", port: 443 }) })).toBe(1);
    expect(await brokenFor({ resource: { type: "address", id: "git.example.com" } })).toBe(0);
    expect(await brokenFor({ device: { posture: { diskEncrypted: true } } })).toBe(0);
    expect(await brokenFor({ device: { posture: { diskEncrypted: false } } })).toBe(1);
    expect(await brokenFor({ device: "none" })).toBe(1);
    expect(await brokenFor({ context: { time: "2031-01-01T00:00:00Z" } })).toBe(1);
  });

  test("shows its question", async () => {
    const { ann } = network;
    const asked = { name: "A try", subject: { type: "user", id: ann.email }, expected: "denied" };
    const { body } = await client.post(`${path}/check`, {
      test: { ...asked, resource: { type: "resource", id: "Git" } },
    });
    expect(body.tests[0]).toMatchObject({
      name: "A try",
      enforced: false,
      subject: { type: "user", id: ann.id, name: ann.email },
      device: "any",
      resource: { type: "resource", ...network.git },
      expected: "denied",
    });
    expect(body.tests[0].id).toBeUndefined();
  });
});

describe("stored tests", () => {
  test("checks all tests, or the requested ones in their order", async () => {
    const other = await server.newTenant();
    const group = await make("group", other.client);
    const resource = await make("resource", other.client);
    const store = async (fields: object) => {
      const subject = { type: "group", id: group.id };
      const resourceOf = { type: "resource", id: resource.id };
      const body = { name: unique("Test"), subject, resource: resourceOf, expected: "denied", ...fields };
      return (await other.client.post(path, body)).body.id as string;
    };
    const ids = [await store({}), await store({ subject: { type: "everyone" } })];
    const allowed = await store({ resource: { type: "address", id: "192.0.2.1" }, subject: { type: "everyone" } });
    const all = await other.client.post(`${path}/check`);
    expect(all.body.tests.map(({ id }: { id: string }) => id)).toEqual([...ids, allowed]);
    const some = await other.client.post(`${path}/check`, { ids: [allowed, ids[0]] });
    expect(some.body.tests.map(({ id }: { id: string }) => id)).toEqual([allowed, ids[0]]);
    await other.client.must.delete(`/tenants/groups/${group.id}`);
    const { body } = await other.client.post(`${path}/check`);
    expect(body.tests[0].state).toMatchObject({ missing: "subject", holds: false, asked: 0, brokenCount: 0 });
    await other.client.must.delete(`/tenants/resources/${resource.id}`);
    const later = await other.client.post(`${path}/check`);
    expect(later.body.tests[1].state).toMatchObject({ missing: "resource" });
    // Traffic to an address outside of all resources is internet traffic.
    expect(later.body.summary).toEqual({ holding: 0, broken: 1, missing: 2 });
    expect(later.body.generation).toBeGreaterThan(body.generation);
  });

  test("checks stored tests together with a test in the request", async () => {
    const test = { subject: { type: "everyone" }, resource: git(), expected: "denied" };
    const { id } = (await client.post(path, { ...test, name: unique("Test") })).body;
    const { body } = await client.post(`${path}/check`, { ids: [id], test });
    expect(body.tests.map((result: { id?: string }) => result.id)).toEqual([id, undefined]);
  });
});

test("requires the permission to request decisions", async () => {
  const key = await tenant.keyWith("access-tests:read");
  const { status, body } = await server.client(key).post(`${path}/check`);
  expect({ status, code: body.code }).toEqual({ status: 403, code: "permission_denied" });
  expect(body.detail).toContain("decisions:read");
});
