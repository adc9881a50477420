/** Requests are authorized again when their body has arrived: a right that was taken away meanwhile is missing. */
import { Readable } from "node:stream";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { unique, uniqueEmail } from "../testing/operations/test-records.ts";
import { activeUser, type PersonHeaders, signInAs } from "../testing/signed-in-person.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";

let server: TestServer;
let tenant: TestTenant;
let user: { readonly id: string; readonly email: string };
let person: PersonHeaders;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});
beforeEach(async () => {
  user = await activeUser(server, tenant, uniqueEmail(), ["ADMIN"]);
  person = await signInAs(server, tenant.id, user.id);
});

/** Sends the body of a request once its headers were authorized and the change was made. */
async function answerAfter(
  change: () => Promise<unknown>,
  headers: PersonHeaders,
  request: { readonly method: "POST"; readonly url: string; readonly body: object },
) {
  let isMade = false;
  const body = new Readable({
    read() {
      if (isMade) return;
      isMade = true;
      void change().then(
        () => {
          this.push(JSON.stringify(request.body));
          this.push(null);
        },
        (error: Error) => this.destroy(error),
      );
    },
  });
  const sent = { ...headers, "content-type": "application/json" };
  const reply = await server.app.inject({ method: request.method, url: request.url, headers: sent, payload: body });
  expect(isMade).toBe(true);
  return { status: reply.statusCode, code: reply.json().code };
}

const newUser = () => ({ method: "POST", url: "/tenants/users", body: { email: uniqueEmail() } }) as const;

test("a person who lost a role meanwhile is refused", async () => {
  const { body } = await tenant.client.must.get(`/tenants/users/${user.id}`);
  const [role] = body.roles;
  const takeRole = () => tenant.client.must.delete(`/tenants/roles/${role.id}/users/${user.id}`);
  expect(await answerAfter(takeRole, person, newUser())).toEqual({ status: 403, code: "permission_denied" });
});

test("a person who was deactivated meanwhile cannot undo it", async () => {
  const deactivate = () => tenant.client.must.patch(`/tenants/users/${user.id}/deactivate`);
  const undo = { method: "POST", url: `/tenants/users/${user.id}/reactivate`, body: {} } as const;
  expect(await answerAfter(deactivate, person, undo)).toEqual({ status: 401, code: "session_ended" });
});

test("a key that was revoked meanwhile is refused", async () => {
  const { body: key } = await tenant.client.must.post("/tenants/api-keys", { name: unique("Key"), role: "ADMIN" });
  const client = server.client(key.key);
  const revoke = async () => {
    await tenant.client.must.delete(`/tenants/api-keys/${key.id}`);
    // Keys are cached, and their end takes effect within a second.
    await until("the key is refused", async () => (await client.get("/tenants/protocols")).status === 401);
  };
  const reply = await answerAfter(revoke, { apikey: key.key }, newUser());
  expect(reply).toEqual({ status: 401, code: "invalid_api_key" });
});

test("a person whose rights did not change is answered", async () => {
  expect(await answerAfter(async () => undefined, person, newUser())).toEqual({ status: 201, code: undefined });
});
