import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser, ownerOf, personClient, signInAs } from "../../testing/signed-in-person.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const minuteMs = 60_000;
const clock = new TestClock();
let server: TestServer;
let replica: TestServer;
let tenant: TestTenant;
beforeAll(async () => {
  [server, replica] = await Promise.all([startTestServer({ clock }), startTestServer({ clock })]);
  tenant = await server.newTenant();
});
afterAll(() => Promise.all([server.close(), replica.close()]));

const someone = (...roles: string[]) => activeUser(server, tenant, uniqueEmail(), roles);
const signedIn = async (userId: string, on = server) =>
  personClient(on, await signInAs(on, tenant.id, userId, { now: clock.now() }));

describe("a person's session", () => {
  test("has the permissions of the user's roles, and no others", async () => {
    const [auditor, nobody] = await Promise.all([someone("AUDITOR"), someone()]);
    const person = await signedIn(auditor.id);
    expect((await person.get("/tenants/users")).status).toBe(200);
    expect((await person.post("/tenants/groups", { name: "Refused" })).body).toMatchObject({
      code: "permission_denied",
      title: "A permission is missing",
      detail:
        "Your roles do not include the permission groups:write. Ask an administrator for a role that includes it.",
    });
    expect((await (await signedIn(nobody.id)).get("/tenants/users")).body.code).toBe("permission_denied");
  });

  test("follows changes of roles with the next request, on every replica", async () => {
    const { id } = await someone();
    const headers = await signInAs(server, tenant.id, id, { now: clock.now() });
    const elsewhere = personClient(replica, headers);
    expect((await elsewhere.get("/tenants/users")).body.code).toBe("permission_denied");
    const { body: roles } = await tenant.client.must.get("/tenants/roles");
    const auditor = roles.find(({ type }: { type: string }) => type === "AUDITOR").id;
    await tenant.client.must.patch(`/tenants/users/${id}/roles`, { addedRoles: [auditor] });
    expect((await elsewhere.get("/tenants/users")).status).toBe(200);
    await tenant.client.must.patch(`/tenants/users/${id}/roles`, { removedRoles: [auditor] });
    expect((await elsewhere.get("/tenants/users")).body.code).toBe("permission_denied");
  });

  test("is recorded as the person", async () => {
    const owner = await ownerOf(tenant);
    const person = await signedIn(owner.id);
    const made = await person.post("/tenants/groups", { name: "Made by a person" });
    expect(made.status, made.text).toBe(201);
    const { body } = await person.get(`/tenants/events?filter[target.id]=${made.body.id}`);
    expect(body.data[0].actor).toEqual({ type: "user", id: owner.id, name: owner.email });
  });

  test("describes the person to the console", async () => {
    const { id, email } = await someone("AUDITOR");
    const { body } = await (await signedIn(id)).get("/console/session");
    expect(body).toMatchObject({
      user: { id, email, name: email, isOwner: false },
      method: "passkey",
      tenant: { id: tenant.id },
      authenticatedAt: clock.now().toISOString(),
      idleSeconds: 3600,
    });
    expect(body.apiKey).toBeUndefined();
  });

  test.each([
    ["deactivation", (id: string) => tenant.client.must.patch(`/tenants/users/${id}/deactivate`)],
    ["deletion", (id: string) => tenant.client.must.delete(`/tenants/users/${id}`)],
    ["sessions, ended by an administrator", (id: string) => tenant.client.must.delete(`/tenants/users/${id}/sessions`)],
  ])("ends on every replica with the user's %s", async (_what, end) => {
    const { id } = await someone("AUDITOR");
    const headers = await signInAs(server, tenant.id, id, { now: clock.now() });
    const [here, there] = [personClient(server, headers), personClient(replica, headers)];
    expect((await there.get("/tenants/users")).status).toBe(200);
    await end(id);
    for (const person of [here, there]) expect((await person.get("/tenants/users")).body.code).toBe("session_ended");
  });

  test("ends on every replica at once when its person signs out everywhere", async () => {
    const { id } = await someone("AUDITOR");
    const [one, two] = [
      await signInAs(server, tenant.id, id, { now: clock.now() }),
      await signInAs(server, tenant.id, id, { now: clock.now() }),
    ];
    const everywhere = [server, replica].flatMap((at) => [personClient(at, one), personClient(at, two)]);
    for (const person of everywhere) expect((await person.get("/tenants/users")).status).toBe(200);
    expect((await personClient(server, one).delete(`/tenants/users/${id}/sessions`)).status).toBe(204);
    for (const person of everywhere) expect((await person.get("/tenants/users")).body.code).toBe("session_ended");
  });

  test("does not return with reactivation", async () => {
    const { id } = await someone("AUDITOR");
    const person = await signedIn(id);
    await tenant.client.must.patch(`/tenants/users/${id}/deactivate`);
    await tenant.client.must.post(`/tenants/users/${id}/reactivate`);
    expect((await person.get("/tenants/users")).body.code).toBe("session_ended");
  });

  test("ends when it is signed out, for every copy of the cookie", async () => {
    const { id } = await someone("AUDITOR");
    const headers = await signInAs(server, tenant.id, id, { now: clock.now() });
    expect((await personClient(server, headers).delete("/console/session")).status).toBe(204);
    expect((await personClient(replica, headers).get("/tenants/users")).body.code).toBe("session_ended");
  });

  test("ends after an hour without use, and after twelve hours in any case", async () => {
    const { id } = await someone("AUDITOR");
    const [idle, busy] = [await signedIn(id), await signedIn(id)];
    for (let halfHours = 1; halfHours < 24; halfHours += 1) {
      clock.advance(30 * minuteMs);
      expect((await busy.get("/tenants/users")).status).toBe(200);
    }
    expect((await idle.get("/tenants/users")).body.code).toBe("session_ended");
    clock.advance(30 * minuteMs);
    expect((await busy.get("/tenants/users")).body.code).toBe("session_ended");
  });

  test("changes nothing for pages of other sites", async () => {
    const { cookie = "" } = await signInAs(server, tenant.id, (await ownerOf(tenant)).id, { now: clock.now() });
    for (const origin of [{ "sec-fetch-site": "cross-site" }, { origin: "http://elsewhere.example.com" }, {}]) {
      const reply = await server.client(undefined).post("/tenants/groups", { name: "Forged" }, { cookie, ...origin });
      expect(reply.body.code).toBe("foreign_origin");
    }
  });

  test("sees nothing of other tenants", async () => {
    const other = await server.newTenant();
    const person = await signedIn((await ownerOf(tenant)).id);
    const { id } = await ownerOf(other);
    expect((await person.get(`/tenants/users/${id}`)).body.code).toBe("not_found");
  });
});
