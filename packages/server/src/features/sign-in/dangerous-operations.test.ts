/** Every dangerous operation asks people who authenticated long ago, by RFC 9470, and never asks API keys. */
import { isAlwaysDangerous } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { beforeAll, expect, test } from "vitest";
import { makeId, uniqueEmail } from "../../testing/operations/test-records.ts";
import { ownerOf, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const dangerous = operations.filter(isAlwaysDangerous);
const someId = "01980000-0000-7000-8000-00000000aaaa";
let server: TestServer;
let tenant: TestTenant;
let person: ReturnType<typeof personClient>;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  const authTime = new Date(server.runner.clock.now().getTime() - 16 * 60_000);
  person = personClient(server, await signInAs(server, tenant.id, (await ownerOf(tenant)).id, { authTime }));
});

test("making and rotating keys, changing providers and deleting gateways are dangerous", () => {
  const names = dangerous.map(({ method, path }) => `${method} ${path}`);
  expect(names).toEqual(
    expect.arrayContaining([
      "POST /tenants/api-keys",
      "POST /tenants/api-keys/{id}/rotate",
      "POST /tenants/identity-providers",
      "PATCH /tenants/identity-providers/{id}",
      "DELETE /tenants/identity-providers/{id}",
      "DELETE /tenants/gateways/{id}",
    ]),
  );
});

test.each(dangerous.map((operation) => [operation.id, operation] as const))("%s", async (_id, { method, path }) => {
  const target = path.replaceAll(/\{\w+\}/g, someId);
  const body = method === "DELETE" || method === "GET" ? undefined : {};
  const refused = await person.send(method, target, body);
  expect([refused.status, refused.body.code]).toEqual([401, "recent_authentication_required"]);
  expect(refused.headers["www-authenticate"]).toMatch(
    /^Bearer .*error="insufficient_user_authentication".*max_age="900"$/,
  );
  const byKey = await tenant.client.send(method, target, body);
  expect(byKey.body?.code).not.toBe("recent_authentication_required");
});

test("a preview does not ask, because it sends nothing", async () => {
  const pending = await makeId("user", tenant.client);
  const email = uniqueEmail();
  const requests = [
    { path: "/tenants/users", body: { email, notify: true } },
    { path: "/tenants/users", body: [{ email: uniqueEmail() }, { email, notify: true }] },
    { path: `/tenants/users/${pending}/invite`, body: { notify: true } },
  ];
  for (const { path, body } of requests) {
    const changes = [{ method: "POST", path, body }];
    const inSet = await person.send("POST", "/tenants/changes", { changes });
    expect([inSet.status, inSet.body?.code]).toEqual([401, "recent_authentication_required"]);
    const previewed = await person.send("POST", "/tenants/policies/preview", { changes });
    const byKey = await tenant.client.send("POST", path, body);
    // This server sends no mail.
    expect([previewed.body?.code, byKey.body?.code]).toEqual(["mail_not_configured", "mail_not_configured"]);
  }
});
