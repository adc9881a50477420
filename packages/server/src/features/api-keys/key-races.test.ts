import { beforeAll, beforeEach, expect, test } from "vitest";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { unique, uniqueEmail } from "../../testing/operations/test-records.ts";
import { asCommand, requestDuring } from "../../testing/request-during.ts";
import { sharedTestServer, type TestClient, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { deleteApiKey, lockApiKey, replaceApiKey } from "./api-keys.queries.ts";

const granted = grantedToSystem<"api-keys:write">();
let server: TestServer;
let tenant: TestTenant;
let id: string;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});
beforeEach(async () => {
  const { body } = await tenant.client.must.post("/tenants/api-keys", { name: unique("Key"), role: "ADMIN" });
  id = body.id;
  client = server.client(body.key);
});

async function revoke(tx: TenantTx): Promise<void> {
  await lockApiKey(tx, id);
  await deleteApiKey(tx, granted, id);
}

async function replace(tx: TenantTx): Promise<void> {
  await lockApiKey(tx, id);
  const now = server.runner.clock.now();
  const other = (await tenant.client.must.get("/tenants/api-keys")).body[0].id;
  await replaceApiKey(tx, granted, id, other, now, now);
}

test.each([
  ["revoked", revoke],
  ["replaced at once", replace],
])("a key that is %s while its request waits creates no other key", async (_, end) => {
  const name = unique("Key");
  const { reply } = await requestDuring(server, tenant, asCommand(end), () =>
    client.post("/tenants/api-keys", { name, role: "AUDITOR" }),
  );
  expect(reply).toMatchObject({ status: 401, body: { code: "invalid_api_key" } });
  const { body: keys } = await tenant.client.must.get("/tenants/api-keys");
  expect(keys.map((key: { name: string }) => key.name)).not.toContain(name);
});

test("a key can replace itself at once", async () => {
  const { status, text } = await client.post(`/tenants/api-keys/${id}/rotate`, { graceSeconds: 0 });
  expect(status, text).toBe(200);
});

test("a key cannot delay its own revocation by its requests", async () => {
  const user = await tenant.client.must.post("/tenants/users", { email: uniqueEmail() });
  let isRevoked = false;
  const statuses = new Set<number>();
  const loops = Array.from({ length: 14 }, async () => {
    while (!isRevoked) {
      const { status } = await client.post(`/tenants/users/${user.body.id}/enrolment-links`);
      statuses.add(status);
    }
  });
  await until("a link was created", () => statuses.has(201));
  const { status } = await tenant.client.delete(`/tenants/api-keys/${id}`);
  isRevoked = true;
  await Promise.all(loops);
  expect(status).toBe(204);
});
