import { beforeAll, expect, test } from "vitest";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { currentGeneration } from "./generation.queries.ts";

let server: TestServer;
let tenants: readonly [TestTenant, TestTenant];

beforeAll(async () => {
  server = await sharedTestServer();
  tenants = [await server.newTenant(), await server.newTenant()];
});

test("a tenant's generation is read inside its own fence, and increases with each command", async () => {
  const [tenant, other] = tenants;
  const before = await currentGeneration(server.database, tenant.id);
  const others = await currentGeneration(server.database, other.id);
  expect((await tenant.client.post("/tenants/groups", { name: "Rising" })).status).toBe(201);
  expect(await currentGeneration(server.database, tenant.id)).toBe((before ?? 0) + 1);
  expect(await currentGeneration(server.database, other.id)).toBe(others);
});

test("a tenant that does not exist has no generation", async () => {
  expect(await currentGeneration(server.database, "00000000-0000-4000-8000-000000000000")).toBeUndefined();
});

test("a cached record is returned only until something in its tenant changes", async () => {
  const { client } = tenants[0];
  const made = await client.post("/tenants/resources", { name: "Kept", type: "PRIVATE", addresses: [] });
  const path = `/tenants/resources/${made.body.id}`;
  expect((await client.get(path)).body.name).toBe("Kept");
  expect((await client.get(path)).body.name).toBe("Kept");
  expect((await client.patch(path, { name: "Changed" })).status).toBe(204);
  expect((await client.get(path)).body.name).toBe("Changed");
  expect((await client.delete(path)).status).toBe(204);
  expect((await client.get(path)).status).toBe(404);
});
