import { roleTypes } from "@gatehouse/contract/permissions";
import { beforeAll, expect, test } from "vitest";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

test("a tenant has one system role of each type", async () => {
  const { body } = await tenant.client.get("/tenants/roles");
  expect(body.map(({ type }: { type: string }) => type)).toEqual(roleTypes);
  expect(body.every(({ deleteable }: { deleteable: boolean }) => !deleteable)).toBe(true);
});

test("a role is read by its id, with its ETag", async () => {
  const { body: roles } = await tenant.client.get("/tenants/roles");
  const read = await tenant.client.get(`/tenants/roles/${roles[0].id}`);
  expect(read).toMatchObject({ status: 200, body: roles[0], headers: { etag: '"1"' } });
});

test("an unknown id, and another tenant's, are not found", async () => {
  const stranger = await server.newTenant();
  const { body: roles } = await stranger.client.get("/tenants/roles");
  for (const id of [roles[0].id, "01980000-0000-7000-8000-000000000000"]) {
    expect(await tenant.client.get(`/tenants/roles/${id}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
  }
});
