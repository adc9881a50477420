/** Every dangerous operation asks people who authenticated long ago, by RFC 9470, and never asks API keys. */
import { isAlwaysDangerous } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { beforeAll, describe, expect, test } from "vitest";
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

describe("operations that can send an enrolment link by email", () => {
  const asked = [401, "recent_authentication_required"];
  const requests = async () => {
    const pending = await makeId("user", tenant.client);
    const invite = { method: "POST", path: `/tenants/users/${pending}/invite` };
    const create = { method: "POST", path: "/tenants/users" };
    const email = uniqueEmail();
    return {
      linking: [
        { ...create, body: { email, notify: true } },
        { ...create, body: [{ email: uniqueEmail() }, { email, notify: true }] },
        { ...invite, body: { notify: true } },
      ],
      others: [
        { ...create, body: { email: uniqueEmail() } },
        { ...create, body: { email: uniqueEmail(), notify: false } },
        { ...create, body: [{ email: uniqueEmail() }] },
        { ...invite, body: { notify: false } },
        { ...invite, body: undefined },
      ],
    };
  };

  test("ask people for a recent authentication if they send one", async () => {
    const { linking } = await requests();
    for (const change of linking) {
      const alone = await person.send("POST", change.path, change.body);
      expect([alone.status, alone.body?.code]).toEqual(asked);
      const inSet = await person.send("POST", "/tenants/changes", { changes: [change] });
      expect([inSet.status, inSet.body?.code]).toEqual(asked);
      const previewed = await person.send("POST", "/tenants/policies/preview", { changes: [change] });
      const byKey = await tenant.client.send("POST", change.path, change.body);
      // A preview sends nothing, so it does not ask. This server sends no mail.
      expect([previewed.body?.code, byKey.body?.code]).toEqual(["mail_not_configured", "mail_not_configured"]);
    }
  });

  test("do not ask without `notify`", async () => {
    const { others } = await requests();
    for (const change of others) {
      const reply = await person.send("POST", change.path, change.body);
      expect(reply.status, reply.text).toBeLessThan(300);
    }
  });
});
