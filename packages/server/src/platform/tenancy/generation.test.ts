import { beforeAll, expect, test } from "vitest";
import { touchHeardGateways } from "../../agents/gateways/link-state.queries.ts";
import { makeId } from "../../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { currentState } from "./generation.queries.ts";

let server: TestServer;
let tenants: readonly [TestTenant, TestTenant];

beforeAll(async () => {
  server = await sharedTestServer();
  tenants = [await server.newTenant(), await server.newTenant()];
});

test("a tenant's generation is read inside its own fence, and increases with each command", async () => {
  const [tenant, other] = tenants;
  const before = await currentState(server.database, tenant.id);
  const others = await currentState(server.database, other.id);
  expect((await tenant.client.post("/tenants/groups", { name: "Rising" })).status).toBe(201);
  expect((await currentState(server.database, tenant.id))?.generation).toBe((before?.generation ?? 0) + 1);
  expect(await currentState(server.database, other.id)).toEqual(others);
});

test("a tenant that does not exist has no generation", async () => {
  expect(await currentState(server.database, "00000000-0000-4000-8000-000000000000")).toBeUndefined();
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

test("a cached record shows when its gateway was last heard, although no command stores that", async () => {
  const { id: tenantId, client } = tenants[0];
  const gateway = await makeId("gateway", client);
  const path = `/tenants/resources/${await makeId("resource", client)}`;
  await client.must.put(`${path}/gateways/${gateway}`);
  for (const at of ["2026-01-02T03:04:05.000Z", "2026-01-02T03:04:35.000Z"]) {
    await server.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
      touchHeardGateways({ tenantId, query }, [{ id: gateway, at }], new Date(at)),
    );
    expect((await client.get(path)).body.gateways[0].lastOnline).toBe(at);
  }
});
