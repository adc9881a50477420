import { afterAll, beforeAll, expect, test } from "vitest";
import { BrowserPage } from "../testing/browser-page.ts";
import { createDatabase, type TestDatabase } from "../testing/test-database.ts";
import { startTestServer, type TestClient, type TestServer } from "../testing/test-server.ts";
import { demoPolicies, demoRules } from "./demo-access.ts";
import { demoGateways, demoResources } from "./demo-network.ts";
import { demoDevices, demoGroups, demoSignInEmails, demoUsers } from "./demo-people.ts";
import { fillDemoTenant } from "./fill-demo-tenant.ts";

const bootstrapApiKey = "the-first-key-of-the-example-tenant";
let database: TestDatabase;
let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  database = await createDatabase();
  server = await startTestServer({ connection: database.connection, bootstrapApiKey });
  client = server.client(bootstrapApiKey);
  // Two replicas that start together.
  await Promise.all([server, server].map((replica) => fillDemoTenant(replica, database.connection)));
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

test("three people of different rights can be signed in as, in demo mode only", async () => {
  const emails = ["operator-01@example.com", "accountant-01@example.com", "engineer-01@example.com"];
  expect(demoSignInEmails).toEqual(emails);
  const demo = await startTestServer({
    connection: database.connection,
    bootstrapApiKey,
    settings: { demoPeople: demoSignInEmails },
  });
  try {
    const page = new BrowserPage(demo);
    const { people } = (await page.get("/console/sign-in")).body.demo;
    expect(people.map(({ email }: { email: string }) => email)).toEqual(emails);
    const rights: number[] = [];
    for (const { id, email } of people) {
      const signedIn = await page.post("/console/demo/sign-in", { userId: id });
      expect([signedIn.status, signedIn.body.user?.email]).toEqual([201, email]);
      rights.push(signedIn.body.permissions.length);
    }
    const [admin = 0, auditor = 0, nobody] = rights;
    expect([admin > auditor, auditor > 0, nobody]).toEqual([true, true, 0]);
    // Nobody else, not even the owner, and not from other sites.
    const { body: owners } = await client.get("/tenants/users?filter[roles.type]=OWNER");
    expect((await page.post("/console/demo/sign-in", { userId: owners.data[0].id })).status).toBe(401);
    const { id: userId } = people[0];
    const foreign = await page.post("/console/demo/sign-in", { userId }, { "sec-fetch-site": "cross-site" });
    expect(foreign.status).toBe(403);
    const without = new BrowserPage(server);
    expect((await without.get("/console/sign-in")).body.demo).toBeUndefined();
    expect((await without.post("/console/demo/sign-in", { userId })).status).toBe(404);
  } finally {
    await demo.close();
  }
});

test("the example organisation has the documented size", () => {
  const lists = [demoUsers, demoGroups, demoDevices, demoGateways, demoResources, demoPolicies, demoRules];
  expect(lists.map((list) => list.length)).toEqual([40, 6, 60, 4, 25, 12, 4]);
  expect(new Set(demoDevices.map(({ publicKey }) => publicKey)).size).toBe(60);
});

test("the tenant contains it in addition to its built-in records, and no key remains", async () => {
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

test("filling again changes nothing and does not restore deleted records", async () => {
  const { body } = await client.get("/tenants/policies?filter[name]=Office systems");
  expect((await client.delete(`/tenants/policies/${body.data[0].id}`)).status).toBe(204);
  const before = await totals();
  await fillDemoTenant(server, database.connection);
  expect(await totals()).toEqual(before);
});

test("the created records are in the tenant's audit record", async () => {
  const { body } = await client.get("/tenants/events?filter[operation]=createPolicy");
  expect(body.total).toBe(12);
  expect(body.data[0].actor.name).toBe("Example records");
});
