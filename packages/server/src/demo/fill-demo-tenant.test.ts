import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase, type TestDatabase } from "../testing/test-database.ts";
import { startTestServer, type TestClient, type TestServer } from "../testing/test-server.ts";
import { demoPolicies, demoRules } from "./demo-access.ts";
import { demoGateways, demoResources } from "./demo-network.ts";
import { demoDevices, demoGroups, demoUsers } from "./demo-people.ts";
import { fillDemoTenant } from "./fill-demo-tenant.ts";

const bootstrapApiKey = "the-first-key-of-the-example-tenant";
let database: TestDatabase;
let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  database = await createDatabase();
  server = await startTestServer({ connection: database.connection, bootstrapApiKey });
  client = server.client(bootstrapApiKey);
  await fillDemoTenant(server);
});

afterAll(async () => {
  await server.close();
  await database.drop();
});

async function total(path: string): Promise<number> {
  const { body } = await client.get(path);
  return Array.isArray(body) ? body.length : body.total;
}

async function totals() {
  const kinds = ["users", "groups", "devices", "gateways", "resources", "policies", "admission-rules", "api-keys"];
  const counts = await Promise.all(kinds.map((kind) => total(`/tenants/${kind}`)));
  return Object.fromEntries(kinds.map((kind, index) => [kind, counts[index]]));
}

test("the example organisation has the size that the documents promise", () => {
  const lists = [demoUsers, demoGroups, demoDevices, demoGateways, demoResources, demoPolicies, demoRules];
  expect(lists.map((list) => list.length)).toEqual([40, 6, 60, 4, 25, 12, 4]);
  expect(new Set(demoDevices.map(({ publicKey }) => publicKey)).size).toBe(60);
});

test("the tenant holds it beside what every tenant has, and keeps no key of the filling", async () => {
  expect(await totals()).toEqual({
    users: 40 + 1,
    groups: 6 + 1,
    devices: 60,
    gateways: 4,
    resources: 25,
    policies: 12 + 1,
    "admission-rules": 4 + 2,
    "api-keys": 1,
  });
  expect(await total("/tenants/users?filter[status]=pending")).toBeGreaterThan(0);
  expect(await total("/tenants/policies?filter[action]=false")).toBe(2);
  expect(await total("/tenants/devices?filter[active]=false")).toBe(1);
  const { body } = await client.get("/tenants/gateways");
  expect(body.filter(({ status }: { status: string }) => status === "MAINTENANCE")).toHaveLength(1);
});

test("a second filling changes nothing, not even what was deleted since", async () => {
  const { body } = await client.get("/tenants/policies?filter[name]=Office systems");
  expect((await client.delete(`/tenants/policies/${body.data[0].id}`)).status).toBe(204);
  const before = await totals();
  await fillDemoTenant(server);
  expect(await totals()).toEqual(before);
});

test("what is made is a change like any other, in the tenant's record", async () => {
  const { body } = await client.get("/tenants/events?filter[operation]=createPolicy");
  expect(body.total).toBe(12);
  expect(body.data[0].actor.name).toBe("Example records");
});
