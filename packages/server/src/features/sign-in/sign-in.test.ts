import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BrowserPage, enrolmentLinkFor } from "../../testing/browser-page.ts";
import { makeId, uniqueEmail } from "../../testing/operations/test-records.ts";
import { activeUser, ownerOf } from "../../testing/signed-in-person.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { type Deviations, VirtualPasskey } from "../../testing/virtual-passkey.ts";

const minuteMs = 60_000;
const origin = "http://localhost:8080";
const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
beforeAll(async () => {
  server = await startTestServer({ clock });
});
beforeEach(async () => {
  tenant = await server.newTenant();
});
afterAll(() => server.close());

/** A person who has registered a passkey. */
async function enrolled(roles: readonly string[] = ["ADMIN"]) {
  const user = await activeUser(server, tenant, uniqueEmail(), roles);
  const [page, passkey] = [new BrowserPage(server), new VirtualPasskey(origin)];
  const reply = await page.enrol(await enrolmentLinkFor(server, tenant.id, user), passkey);
  expect(reply.status, reply.text).toBe(201);
  return { user, page, passkey };
}

const signInsOf = async (userId: string) => {
  const { body } = await tenant.client.must.get(`/tenants/sign-ins?filter[user.id]=${userId}&sort=-createdAt`);
  return body.data;
};

describe("an enrolment link", () => {
  test("registers a passkey and signs the person in", async () => {
    const { user, page } = await enrolled();
    expect((await page.get("/tenants/users")).status).toBe(200);
    const { body } = await page.get(`/tenants/users/${user.id}/passkeys`);
    expect(body).toEqual([
      { id: expect.any(String), createdAt: clock.now().toISOString(), userId: user.id, name: "Laptop", synced: false },
    ]);
    expect(await signInsOf(user.id)).toMatchObject([{ method: "enrolment-link", outcome: "succeeded" }]);
  });

  test("activates a pending user, and the audit record names the person", async () => {
    const { body: user } = await tenant.client.must.post("/tenants/users", { email: uniqueEmail() });
    const reply = await new BrowserPage(server).enrol(
      await enrolmentLinkFor(server, tenant.id, user),
      new VirtualPasskey(origin),
    );
    expect(reply.status, reply.text).toBe(201);
    expect((await tenant.client.get(`/tenants/users/${user.id}`)).body.status).toBe("active");
    const { body } = await tenant.client.must.get("/tenants/events?filter[operation]=enrolPasskey");
    expect(body.data[0].actor).toEqual({ type: "user", id: user.id, name: user.email });
    expect(JSON.stringify(body)).not.toContain("publicKey");
  });

  test("works once, before it expires, and not for deactivated users", async () => {
    const user = await activeUser(server, tenant, uniqueEmail());
    const link = () => enrolmentLinkFor(server, tenant.id, user);
    const enrol = async (token: string) =>
      (await new BrowserPage(server).enrol(token, new VirtualPasskey(origin))).body;
    const once = await link();
    await enrol(once);
    expect((await enrol(once)).code).toBe("sign_in_failed");
    const [late, unused] = [await link(), await link()];
    clock.advance(7 * 24 * 60 * minuteMs);
    expect((await enrol(late)).code).toBe("sign_in_failed");
    clock.advance(-7 * 24 * 60 * minuteMs);
    await tenant.client.must.patch(`/tenants/users/${user.id}/deactivate`);
    expect((await enrol(unused)).code).toBe("sign_in_failed");
    const reasons = (await signInsOf(user.id)).map(({ reason }: { reason?: string }) => reason);
    // Deactivation revoked the last link, which leads to no tenant any more.
    expect(reasons).toEqual(expect.arrayContaining(["the link was used before", "the link has expired"]));
  });

  test("that two browsers open at once registers one passkey", async () => {
    const user = await activeUser(server, tenant, uniqueEmail());
    const token = await enrolmentLinkFor(server, tenant.id, user);
    const replies = await Promise.all(
      [1, 2].map(() => new BrowserPage(server).enrol(token, new VirtualPasskey(origin))),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 401]);
  });
});

describe("signing in with a passkey", () => {
  test("begins a new session and ends the one that the browser had: an attacker cannot fix it", async () => {
    const { page, passkey } = await enrolled();
    const attacker = await enrolled();
    const victim = new BrowserPage(server);
    victim.setCookie("gatehouse_session", attacker.page.sessionCookie ?? "");
    const reply = await victim.signIn(passkey);
    expect(reply.status, reply.text).toBe(201);
    expect(victim.sessionCookie).not.toBe(attacker.page.sessionCookie);
    expect((await attacker.page.get("/tenants/users")).body.code).toBe("session_ended");
    expect((await page.get("/tenants/users")).status).toBe(200);
  });

  const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const hostile: readonly (readonly [string, Deviations])[] = [
    ["a page of another origin", { origin: "https://gatehouse.example.net" }],
    ["a page of another port", { origin: "http://localhost:9090" }],
    ["an origin that the log cannot store", { origin: "http://localhost\0" }],
    ["another relying party", { rpId: "example.net" }],
    ["another challenge", { challenge: Buffer.alloc(32, 1).toString("base64url") }],
    ["a registration", { type: "webauthn.create" }],
    ["another key", { key: other }],
    ["no verified person", { verified: false }],
    ["another user's handle", { userHandle: Buffer.alloc(16, 1).toString("base64url") }],
  ];
  test.each(hostile)("refuses a response with %s, and says nothing about the reason", async (_what, deviations) => {
    const { user, passkey } = await enrolled();
    const page = new BrowserPage(server);
    const { status, body } = await page.signIn(passkey, deviations);
    expect({ status, code: body.code }).toEqual({ status: 401, code: "sign_in_failed" });
    expect(page.sessionCookie).toBeUndefined();
    const { body: unknown } = await new BrowserPage(server).signIn(new VirtualPasskey(origin));
    expect(unknown.detail).toBe(body.detail);
    expect(await signInsOf(user.id)).toEqual(
      expect.arrayContaining([expect.objectContaining({ outcome: "failed", reason: expect.any(String) })]),
    );
  });

  test("refuses a passkey whose counter went back: it was copied", async () => {
    const { passkey } = await enrolled();
    const page = new BrowserPage(server);
    expect((await page.signIn(passkey, { counter: 9 })).status).toBe(201);
    expect((await page.signIn(passkey, { counter: 5 })).status).toBe(401);
  });

  test("accepts each challenge once, from the browser that asked for it, within five minutes", async () => {
    const { passkey } = await enrolled();
    const [page, another] = [new BrowserPage(server), new BrowserPage(server)];
    const { body, headers } = await page.post("/console/sign-in/options");
    const ceremony = /gatehouse_ceremony=([^;,]+)/.exec(headers["set-cookie"] ?? "")?.[1] ?? "";
    const response = passkey.authenticate(body.options);
    expect((await another.post("/console/sign-in", { response })).status).toBe(401);
    expect((await page.post("/console/sign-in", { response })).status).toBe(201);
    page.setCookie("gatehouse_ceremony", ceremony);
    expect((await page.post("/console/sign-in", { response })).status).toBe(401);
    const late = await page.post("/console/sign-in/options");
    clock.advance(5 * minuteMs);
    expect((await page.post("/console/sign-in", { response: passkey.authenticate(late.body.options) })).status).toBe(
      401,
    );
  });

  test("accepts no challenge again on a replica whose clock is behind the one that deletes challenges", async () => {
    const [{ passkey }, another] = [await enrolled(), await enrolled()];
    const page = new BrowserPage(server);
    const { body, headers } = await page.post("/console/sign-in/options");
    const ceremony = /gatehouse_ceremony=([^;,]+)/.exec(headers["set-cookie"] ?? "")?.[1] ?? "";
    // Synchronized passkeys have no counter, which would also reveal the second use.
    const response = passkey.authenticate(body.options, { counter: 0 });
    expect((await page.post("/console/sign-in", { response })).status).toBe(201);
    clock.correct(6 * minuteMs);
    expect((await new BrowserPage(server).signIn(another.passkey)).status).toBe(201);
    clock.correct(-6 * minuteMs);
    page.setCookie("gatehouse_ceremony", ceremony);
    expect((await page.post("/console/sign-in", { response })).status).toBe(401);
  });

  test("refuses a challenge that was asked for another purpose", async () => {
    const { page, passkey } = await enrolled();
    const { body } = await page.post("/console/account/authentication/options");
    expect((await page.post("/console/sign-in", { response: passkey.authenticate(body.options) })).status).toBe(401);
  });

  test("is refused to deactivated users, and with deleted passkeys", async () => {
    const [first, second] = [await enrolled(), await enrolled()];
    await tenant.client.must.patch(`/tenants/users/${first.user.id}/deactivate`);
    expect((await new BrowserPage(server).signIn(first.passkey)).status).toBe(401);
    await tenant.client.must.delete(`/tenants/users/${second.user.id}/passkeys`);
    expect((await new BrowserPage(server).signIn(second.passkey)).status).toBe(401);
    expect((await second.page.get("/tenants/users")).body.code).toBe("session_ended");
  });

  test("cannot be regained with an earlier link after a reset of passkeys", async () => {
    const { user, page, passkey } = await enrolled();
    const path = `/tenants/users/${user.id}/enrolment-links`;
    const { body: link, text } = await page.post(path, {});
    expect(link.url, text).toBeDefined();
    await tenant.client.must.delete(`/tenants/users/${user.id}/passkeys`);
    expect((await tenant.client.must.get(path)).body.filter((left: { usedAt?: string }) => !left.usedAt)).toEqual([]);
    const old = await new BrowserPage(server).enrol(link.url.split("#")[1], passkey);
    expect(old).toMatchObject({ status: 401, body: { code: "sign_in_failed" } });
    const { body: next } = await tenant.client.must.post(path);
    expect((await new BrowserPage(server).enrol(next.url.split("#")[1], new VirtualPasskey(origin))).status).toBe(201);
    const { body: events } = await tenant.client.must.get(`/tenants/events?filter[target.id]=${link.id}`);
    expect(events.data.map(({ operation }: { operation: string }) => operation)).toContain("resetPasskeys");
  });

  test("is refused to pages of other sites: nobody is signed in against their will", async () => {
    const { passkey } = await enrolled();
    const page = new BrowserPage(server);
    const { body } = await page.post("/console/sign-in/options");
    const response = passkey.authenticate(body.options);
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "same-site" },
    ]) {
      const reply = await page.post("/console/sign-in", { response }, headers);
      expect(reply.body.code).toBe("foreign_origin");
    }
    expect(page.sessionCookie).toBeUndefined();
  });

  test.each([{}, { response: "text" }, { response: {} }, { response: { id: "x".repeat(5000) } }, { response: [] }, []])(
    "refuses the malformed body %j",
    async (body) => {
      const { status } = await new BrowserPage(server).post("/console/sign-in", body);
      expect([400, 401]).toContain(status);
    },
  );
});

describe("a recovery code", () => {
  test("signs its user in once, and is replaced by another one", async () => {
    const { page, user } = await enrolled();
    const { body } = await page.post("/console/account/recovery-code");
    const typed = body.recoveryCode.toLowerCase().replaceAll("-", " ");
    const fresh = new BrowserPage(server);
    const reply = await fresh.post("/console/recovery", { code: typed });
    expect(reply.status, reply.text).toBe(201);
    expect((await fresh.get("/tenants/users")).status).toBe(200);
    expect((await new BrowserPage(server).post("/console/recovery", { code: typed })).body.code).toBe("sign_in_failed");
    const next = { code: reply.body.recoveryCode };
    expect((await new BrowserPage(server).post("/console/recovery", next)).status).toBe(201);
    const used = (await signInsOf(user.id)).filter(({ method }: { method: string }) => method === "recovery-code");
    expect(used).toMatchObject([{ outcome: "succeeded" }, { outcome: "succeeded" }]);
  });

  test("cannot be guessed without being noticed, and guesses do not lock out others", async () => {
    const limited = await startTestServer({
      clock,
      settings: { rateLimits: { perMinute: 0, authFailures: 3, shared: false } },
    });
    try {
      tenant = await limited.newTenant();
      const user = await activeUser(limited, tenant, uniqueEmail(), ["ADMIN"]);
      const [page, passkey] = [new BrowserPage(limited), new VirtualPasskey(origin)];
      await page.enrol(await enrolmentLinkFor(limited, tenant.id, user), passkey);
      const guess = () => new BrowserPage(limited).post("/console/recovery", { code: "0".repeat(32) });
      for (let tries = 0; tries < 3; tries += 1) expect((await guess()).body.code).toBe("sign_in_failed");
      expect((await guess()).body.code).toBe("too_many_failed_authentications");
      // From the same address, the person's session goes on.
      expect((await page.get("/tenants/users")).status).toBe(200);
    } finally {
      await limited.close();
    }
  });
});

describe("the last sign-in method", () => {
  test("cannot be removed by the person or by an administrator for the owner", async () => {
    const owner = await ownerOf(tenant);
    const [page, passkey] = [new BrowserPage(server), new VirtualPasskey(origin)];
    await page.enrol(await enrolmentLinkFor(server, tenant.id, owner), passkey);
    const { body: passkeys } = await page.get(`/tenants/users/${owner.id}/passkeys`);
    const path = `/tenants/users/${owner.id}/passkeys/${passkeys[0].id}`;
    expect((await page.send("DELETE", path)).body.code).toBe("last_way_in");
    expect((await tenant.client.delete(`/tenants/users/${owner.id}/passkeys`)).body.code).toBe("last_way_in");
    expect((await page.register(new VirtualPasskey(origin))).status).toBe(201);
    expect((await page.send("DELETE", path)).status).toBe(204);
    await page.post("/console/account/recovery-code");
    expect((await tenant.client.delete(`/tenants/users/${owner.id}/passkeys`)).status).toBe(204);
  });

  test("can be an enrolment link, which a reset would revoke", async () => {
    const owner = await ownerOf(tenant);
    const links = `/tenants/users/${owner.id}/enrolment-links`;
    const reset = () => tenant.client.delete(`/tenants/users/${owner.id}/passkeys`);
    const { body: link } = await tenant.client.must.post(links);
    expect((await reset()).body.code).toBe("last_way_in");
    expect((await tenant.client.must.get(links)).body).toMatchObject([{ id: link.id }]);
    await tenant.client.must.delete(`${links}/${link.id}`);
    expect((await reset()).status).toBe(204);
  });

  test("of a more privileged user cannot be changed", async () => {
    const support = await enrolled(["SUPPORT"]);
    const admin = await enrolled(["ADMIN"]);
    const reply = await support.page.send("DELETE", `/tenants/users/${admin.user.id}/passkeys`);
    expect(reply.body.code).toBe("grants_exceed_caller");
  });
});

describe("sessions", () => {
  test("are listed and ended by their person, and by administrators", async () => {
    const [nobody, admin] = [await enrolled([]), await enrolled(["ADMIN"])];
    const second = new BrowserPage(server);
    await second.signIn(nobody.passkey);
    const { body: own } = await nobody.page.get("/tenants/sessions");
    expect(own.total).toBe(2);
    expect(own.data.filter(({ current }: { current: boolean }) => current)).toHaveLength(1);
    const there = own.data.find(({ current }: { current: boolean }) => !current);
    expect((await nobody.page.send("DELETE", `/tenants/sessions/${there.id}`)).status).toBe(204);
    expect((await second.get("/tenants/sessions")).body.code).toBe("session_ended");
    const { body: all } = await admin.page.get("/tenants/sessions");
    expect(all.total).toBe(2);
    const foreign = all.data.find(({ user }: { user: { id: string } }) => user.id === admin.user.id);
    expect((await nobody.page.send("DELETE", `/tenants/sessions/${foreign.id}`)).body.code).toBe("permission_denied");
    expect((await admin.page.send("DELETE", `/tenants/users/${nobody.user.id}/sessions`)).status).toBe(204);
    expect((await nobody.page.get("/tenants/sessions")).body.code).toBe("session_ended");
  });

  test("without users:read are not listed for keys", async () => {
    const reply = await server.client(await tenant.keyWith("groups:read")).get("/tenants/sessions");
    expect(reply.body.code).toBe("permission_denied");
  });
});

describe("dangerous operations", () => {
  const makeKey = (page: BrowserPage) =>
    page.post("/tenants/api-keys", { name: "Made by a person", permissions: ["users:read"] });

  test("require that a person authenticated in the last 15 minutes", async () => {
    const { page, passkey } = await enrolled();
    expect((await makeKey(page)).status).toBe(201);
    clock.advance(15 * minuteMs + 1);
    const refused = await makeKey(page);
    expect({ status: refused.status, code: refused.body.code }).toEqual({
      status: 401,
      code: "recent_authentication_required",
    });
    expect(refused.headers["www-authenticate"]).toMatch(
      /^Bearer .*error="insufficient_user_authentication".*max_age="900"$/,
    );
    expect((await page.get("/tenants/users")).status).toBe(200);
    expect((await page.stepUp(passkey)).status).toBe(204);
    expect((await makeKey(page)).status).toBe(201);
  });

  test("require another authentication if the clock was ahead during the last one", async () => {
    clock.correct(300 * minuteMs);
    const { page, passkey } = await enrolled();
    expect((await makeKey(page)).status).toBe(201);
    clock.correct(-300 * minuteMs);
    expect((await makeKey(page)).body.code).toBe("recent_authentication_required");
    expect((await page.stepUp(passkey)).status).toBe(204);
    expect((await makeKey(page)).status).toBe(201);
  });

  test("are not opened by the passkey of another person", async () => {
    const { page } = await enrolled();
    const other = await enrolled();
    clock.advance(16 * minuteMs);
    expect((await page.stepUp(other.passkey)).status).toBe(401);
    expect((await makeKey(page)).status).toBe(401);
  });

  test("never ask API keys", async () => {
    clock.advance(60 * minuteMs);
    const body = { name: "Made by a key", permissions: ["users:read"] };
    expect((await tenant.client.post("/tenants/api-keys", body)).status).toBe(201);
  });

  test("ask inside change sets, for overriding access tests, and for further passkeys", async () => {
    const { page, passkey } = await enrolled();
    const gatewayId = await makeId("gateway", tenant.client);
    clock.advance(16 * minuteMs);
    const changes = [{ method: "DELETE", path: `/tenants/gateways/${gatewayId}` }];
    expect((await page.post("/tenants/changes", { changes })).body.code).toBe("recent_authentication_required");
    const override = { "gatehouse-override-reason": "Emergency" };
    const { body } = await page.post("/tenants/users", { email: uniqueEmail() }, override);
    expect(body.code).toBe("recent_authentication_required");
    expect((await page.register(new VirtualPasskey(origin))).body.code).toBe("recent_authentication_required");
    await page.stepUp(passkey);
    expect((await page.post("/tenants/changes", { changes })).status).toBe(200);
  });
});

test("accounts of people are closed to keys, and to sessions that represent a key", async () => {
  const reply = await server.client(tenant.key).post("/console/account/recovery-code", undefined, {
    "sec-fetch-site": "same-origin",
  });
  expect(reply.body.code).toBe("person_required");
});
