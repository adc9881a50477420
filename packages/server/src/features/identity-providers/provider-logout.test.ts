/** Sign-out at providers, and confirmations, with hostile providers as the OpenID conformance suite has them. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HostileProvider, type LogoutTokenChanges } from "../../testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl } from "../../testing/provider-world.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

let server: TestServer;
/** Another replica of the same installation. */
let replica: TestServer;
let hostile: HostileProvider;
let world: ProviderWorld;
let provider: { readonly id: string; readonly signInUrl: string; readonly backChannelLogoutUri: string };

beforeAll(async () => {
  hostile = await HostileProvider.start();
  const settings = { providerNetworks: ["127.0.0.0/8"], publicUrl: () => providerTestUrl };
  [server, replica] = await Promise.all([startTestServer({ settings }), startTestServer({ settings })]);
});
beforeEach(() => sends());
afterAll(async () => {
  await Promise.all([server.close(), replica.close()]);
  await hostile.close();
});

/** Creates a tenant with a provider, and a person who can sign in with it. */
async function createWorld(): Promise<void> {
  sends();
  world = new ProviderWorld(server, await server.newTenant(), hostile);
  await world.invite("ada@example.com");
  provider = await world.enabledProvider({ firstSignIn: "INVITED", linkVerifiedEmail: true });
}

/** Claims of the next ID tokens. */
function sends(claims: object = {}): void {
  hostile.deviations = { claims: (correct) => ({ ...correct, sid: "session-1", ...claims }) };
}

async function logOut(token: string | undefined, to = provider.backChannelLogoutUri, more = "") {
  return server.app.inject({
    method: "POST",
    url: to.replace(providerTestUrl, ""),
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: `${new URLSearchParams(token === undefined ? {} : { logout_token: token })}${more}`,
  });
}

describe("back-channel logout", () => {
  beforeEach(createWorld);

  test("ends the session that the token names, at once and on every replica, and no other", async () => {
    const cookie = await world.signIn(provider.signInUrl);
    sends({ sid: "session-2" });
    const other = await world.signIn(provider.signInUrl);
    const reply = await logOut(hostile.logoutToken());
    expect([reply.statusCode, reply.headers["cache-control"]]).toEqual([200, "no-store"]);
    const elsewhere = new ProviderWorld(replica, world.tenant, hostile);
    expect([await world.isSignedIn(cookie), await elsewhere.isSignedIn(cookie)]).toEqual([false, false]);
    expect(await elsewhere.isSignedIn(other)).toBe(true);
    const { body } = await world.tenant.client.must.get("/tenants/events?filter[operation]=backChannelLogout");
    expect(body.data).toMatchObject([{ target: { type: "session", name: "ada@example.com" } }]);
  });

  test("without a session ends everything that the person has", async () => {
    const cookies = [await world.signIn(provider.signInUrl)];
    sends({ sid: "session-2" });
    cookies.push(await world.signIn(provider.signInUrl));
    expect((await logOut(hostile.logoutToken({ claims: { sid: undefined } }))).statusCode).toBe(200);
    expect(await Promise.all(cookies.map((cookie) => world.isSignedIn(cookie)))).toEqual([false, false]);
  });

  test("without a subject ends the session", async () => {
    const cookie = await world.signIn(provider.signInUrl);
    expect((await logOut(hostile.logoutToken({ claims: { sub: undefined } }))).statusCode).toBe(200);
    expect(await world.isSignedIn(cookie)).toBe(false);
  });

  test.each<[string, LogoutTokenChanges]>([
    ["without a type", { header: { typ: undefined } }],
    ["of the general type", { header: { typ: "JWT" } }],
    ["with the long name of its type", { header: { typ: "application/logout+jwt" } }],
    ["with an audience in a list", { claims: { aud: ["gatehouse"] } }],
    ["of a clock that is 30 seconds ahead", { claims: { iat: Math.floor(Date.now() / 1000) + 30 } }],
  ])("accepts a token %s", async (_what, changes) => {
    const cookie = await world.signIn(provider.signInUrl);
    expect((await logOut(hostile.logoutToken(changes))).statusCode).toBe(200);
    expect(await world.isSignedIn(cookie)).toBe(false);
  });

  test("refuses an ID token, and a token that is signed with the client's secret", async () => {
    const cookie = await world.signIn(provider.signInUrl);
    let idToken = "";
    hostile.deviations = {
      idToken: (correct) => {
        idToken = correct;
        return correct;
      },
    };
    await world.visit(provider.signInUrl);
    expect((await logOut(idToken)).statusCode).toBe(400);
    const [, payload = ""] = hostile.logoutToken().split(".");
    const head = Buffer.from(JSON.stringify({ alg: "HS256", typ: "logout+jwt" })).toString("base64url");
    const mac = createHmac("sha256", hostile.clientSecret).update(`${head}.${payload}`).digest("base64url");
    expect((await logOut(`${head}.${payload}.${mac}`)).statusCode).toBe(400);
    expect(await world.isSignedIn(cookie)).toBe(true);
  });

  test("accepts a token once", async () => {
    const token = hostile.logoutToken();
    expect((await logOut(token)).statusCode).toBe(200);
    const cookie = await world.signIn(provider.signInUrl);
    expect((await logOut(token)).statusCode).toBe(400);
    expect(await world.isSignedIn(cookie)).toBe(true);
  });

  test("of another tenant's provider with the same issuer and client ends nothing here", async () => {
    const cookie = await world.signIn(provider.signInUrl);
    const theirs = new ProviderWorld(server, await server.newTenant(), hostile);
    const { backChannelLogoutUri } = await theirs.enabledProvider();
    expect((await logOut(hostile.logoutToken(), backChannelLogoutUri)).statusCode).toBe(200);
    expect(await world.isSignedIn(cookie)).toBe(true);
  });

  test("is answered with 503 while the provider's keys cannot be read, and can be repeated", async () => {
    const cookie = await world.signIn(provider.signInUrl);
    const token = hostile.logoutToken();
    hostile.deviations = { answer: (_path, response) => response.destroy() !== undefined };
    expect((await logOut(token)).statusCode).toBe(503);
    sends();
    expect((await logOut(token)).statusCode).toBe(200);
    expect(await world.isSignedIn(cookie)).toBe(false);
  });

  test("sends nothing to the provider for a token that cannot be valid", async () => {
    let asked = 0;
    hostile.deviations = { answer: () => ++asked < 0 };
    await logOut(hostile.logoutToken({ claims: { aud: "other" } }));
    expect(asked).toBe(0);
  });
});

describe("back-channel logout leaves a session, and", () => {
  /** No test of this group ends the session, so all of them use the same one. */
  let cookie: string;
  beforeAll(async () => {
    await createWorld();
    cookie = await world.signIn(provider.signInUrl);
  });

  test.each<[string, LogoutTokenChanges]>([
    ["of another subject", { claims: { sub: "subject-2" } }],
    ["of another session", { claims: { sid: "session-9" } }],
    ["of another subject, without a session", { claims: { sub: "subject-2", sid: undefined } }],
  ])("with a token %s ends nothing", async (_what, changes) => {
    expect((await logOut(hostile.logoutToken(changes))).statusCode).toBe(200);
    expect(await world.isSignedIn(cookie)).toBe(true);
  });

  const now = Math.floor(Date.now() / 1000);
  const event = "http://schemas.openid.net/event/backchannel-logout";
  test.each<[string, LogoutTokenChanges]>([
    ["is signed with another key", { key: HostileProvider.otherKey() }],
    ["names an unknown key", { header: { kid: "unknown" } }],
    ["names another algorithm", { header: { alg: "PS256" } }],
    ["has the algorithm none", { header: { alg: "none" } }],
    ["has a critical extension", { header: { crit: ["unknown"], unknown: true } }],
    ["is an access token by its type", { header: { typ: "at+jwt" } }],
    ["is of another issuer", { claims: { iss: "https://other.example.com" } }],
    ["has no issuer", { claims: { iss: undefined } }],
    ["is for another client", { claims: { aud: "other" } }],
    ["is for several clients", { claims: { aud: ["gatehouse", "other"] } }],
    ["has no audience", { claims: { aud: undefined } }],
    ["has no time of issue", { claims: { iat: undefined } }],
    ["was issued long ago", { claims: { iat: now - 7_200, exp: now + 60 } }],
    ["was issued in the future", { claims: { iat: now + 600, exp: now + 700 } }],
    ["has expired", { claims: { iat: now - 300, exp: now - 120 } }],
    ["never expires", { claims: { exp: undefined } }],
    ["is valid for a day", { claims: { exp: now + 86_400 } }],
    ["has no id", { claims: { jti: undefined } }],
    ["has a number as id", { claims: { jti: 7 } }],
    ["has a nonce, as an ID token", { claims: { nonce: "nonce" } }],
    ["has no events", { claims: { events: undefined } }],
    ["has another event", { claims: { events: { "https://example.com/other": {} } } }],
    ["has the event as text", { claims: { events: event } }],
    ["has the event in a list", { claims: { events: [event] } }],
    ["has an event that is not an object", { claims: { events: { [event]: true } } }],
    ["names neither subject nor session", { claims: { sub: undefined, sid: undefined } }],
    ["has a number as subject", { claims: { sub: 7 } }],
    ["has an object as session", { claims: { sid: {} } }],
    ["has a session that is too long", { claims: { sid: "s".repeat(300) } }],
  ])("refuses a token that %s", async (_what, changes) => {
    const reply = await logOut(hostile.logoutToken(changes));
    expect([reply.statusCode, reply.json()]).toEqual([400, { error: "invalid_request" }]);
    expect(await world.isSignedIn(cookie)).toBe(true);
  });

  test.each<[string, (token: string) => Promise<{ statusCode: number }>]>([
    ["without a token", () => logOut(undefined)],
    ["with two tokens", (token) => logOut(token, undefined, `&logout_token=${token}`)],
    ["with text", () => logOut("text")],
    ["with a long text", () => logOut("a".repeat(20_000))],
    [
      "at an unknown provider",
      (token) => logOut(token, provider.backChannelLogoutUri.replaceAll(/[0-9a-f]{4}\//g, "0000/")),
    ],
    [
      "with JSON",
      (token) =>
        server.app.inject({
          method: "POST",
          url: provider.backChannelLogoutUri.replace(providerTestUrl, ""),
          payload: { logout_token: token },
        }),
    ],
  ])("%s ends nothing", async (_what, send) => {
    const { statusCode } = await send(hostile.logoutToken());
    expect([400, 404, 413]).toContain(statusCode);
    expect(await world.isSignedIn(cookie)).toBe(true);
  });
});

describe("a sign-out at the provider", () => {
  beforeEach(createWorld);

  const cookieOf = (reply: { headers: Readonly<Record<string, unknown>> }, name: string) =>
    [reply.headers["set-cookie"] ?? []]
      .flat()
      .map(String)
      .find((cookie) => cookie.startsWith(`${name}=`));

  test("goes to the provider's page with the ID token of the session, which the cookie hides", async () => {
    const signedIn = await world.visit(provider.signInUrl);
    const cookie = cookieOf(signedIn, "gatehouse_id_token") ?? "";
    expect(cookie).toMatch(/HttpOnly.*SameSite=Strict/);
    expect(cookie).not.toContain("eyJ");
    const reply = await world.open(`${provider.signInUrl}/sign-out`, cookie.split(";", 1)[0]);
    expect(reply.statusCode).toBe(302);
    const url = new URL(String(reply.headers.location));
    expect(`${url.origin}${url.pathname}`).toBe(`${hostile.issuer}/end`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: "gatehouse",
      id_token_hint: expect.stringMatching(/^eyJ/),
      post_logout_redirect_uri: `${providerTestUrl}/console/`,
    });
    expect(cookieOf(reply, "gatehouse_id_token")).toContain("Max-Age=0");
  });

  test("sends no ID token of a changed cookie, or of another provider", async () => {
    const second = await world.enabledProvider({ name: "Second", linkVerifiedEmail: true });
    const signedIn = await world.visit(second.signInUrl);
    const cookie = cookieOf(signedIn, "gatehouse_id_token")?.split(";", 1)[0] ?? "";
    for (const held of [cookie, "gatehouse_id_token=AAAA"]) {
      const reply = await world.open(`${provider.signInUrl}/sign-out`, held);
      expect(new URL(String(reply.headers.location)).searchParams.has("id_token_hint")).toBe(false);
    }
  });

  test("goes back to the console if the provider has no such page, and says if it does not answer", async () => {
    hostile.deviations = { metadata: ({ end_session_endpoint: _none, ...metadata }) => metadata };
    expect((await world.open(`${provider.signInUrl}/sign-out`)).headers.location).toBe("/console/");
    hostile.deviations = { answer: (_path, response) => response.destroy() !== undefined };
    const reply = await world.open(`${provider.signInUrl}/sign-out`);
    expect([reply.statusCode, reply.body]).toEqual([502, expect.stringContaining("does not answer")]);
  });
});

describe("a confirmation at the provider", () => {
  beforeEach(createWorld);

  const confirmUrl = () => `${provider.signInUrl}?confirm=1`;
  const old = Math.floor(Date.now() / 1000) - 1_200;
  const authenticatedAt = async (cookie: string) => Date.parse((await world.session(cookie)).authenticatedAt);

  /** A session whose person authenticated 20 minutes ago. */
  async function oldSession(): Promise<string> {
    sends({ auth_time: old });
    const cookie = await world.signIn(provider.signInUrl);
    expect(await authenticatedAt(cookie)).toBe(old * 1000);
    sends();
    return cookie;
  }

  test("asks the person again, and stores when the person authenticated", async () => {
    const cookie = await oldSession();
    const departed = await world.open(confirmUrl(), cookie);
    const { searchParams } = new URL(String(departed.headers.location));
    expect([searchParams.get("prompt"), searchParams.get("max_age")]).toEqual(["login", "0"]);
    const reply = await world.visit(confirmUrl(), cookie);
    expect([reply.statusCode, reply.body]).toEqual([200, expect.stringContaining("confirmed")]);
    expect(await authenticatedAt(cookie)).toBeGreaterThan(Date.now() - 60_000);
    expect(await world.isSignedIn(cookie)).toBe(true);
  });

  test.each<[string, object]>([
    ["an authentication from before", { auth_time: old }],
    ["no time of authentication", { auth_time: undefined }],
    ["a time of authentication as text", { auth_time: "now" }],
  ])("is refused with %s", async (_what, claims) => {
    const cookie = await oldSession();
    sends(claims);
    expect((await world.visit(confirmUrl(), cookie)).statusCode).toBe(401);
    expect(await authenticatedAt(cookie)).toBe(old * 1000);
  });

  test("of another person is refused, although that person can sign in", async () => {
    const cookie = await oldSession();
    await world.invite("ben@example.com");
    hostile.deviations = {
      claims: (claims) => ({ ...claims, sub: "subject-2" }),
      userInfo: (info) => ({ ...info, sub: "subject-2", email: "ben@example.com" }),
    };
    await world.signIn(provider.signInUrl);
    const reply = await world.visit(confirmUrl(), cookie);
    expect(reply.statusCode).toBe(401);
    expect(await authenticatedAt(cookie)).toBe(old * 1000);
  });

  test("without a session, or with one of another tenant, does not start", async () => {
    const theirs = new ProviderWorld(server, await server.newTenant(), hostile);
    await theirs.invite("ada@example.com");
    const foreign = await theirs.signIn((await theirs.enabledProvider({ firstSignIn: "INVITED" })).signInUrl);
    for (const cookie of [undefined, "gatehouse_session=gatehouse_session_none", foreign]) {
      expect((await world.open(confirmUrl(), cookie)).statusCode).toBe(401);
    }
  });

  test("does nothing for a session that ended meanwhile", async () => {
    const cookie = await oldSession();
    const departed = await world.open(confirmUrl(), cookie);
    await logOut(hostile.logoutToken());
    const callback = hostile.approve(new URL(String(departed.headers.location)));
    const reply = await world.open(callback.href, String(departed.headers["set-cookie"]).split(";", 1)[0]);
    expect(reply.statusCode).toBe(401);
    expect(await world.isSignedIn(cookie)).toBe(false);
  });
});

describe("the sign-in page", () => {
  beforeEach(createWorld);

  const find = async (name: unknown) =>
    server.app.inject({
      method: "POST",
      url: "/console/sign-in/providers",
      headers: { "sec-fetch-site": "same-origin", host: "localhost" },
      payload: { name },
    });

  test("finds the providers of a tenant by its slug, in any letter case", async () => {
    const { body } = await server.operator.must.get(`/operator/tenants/${world.tenant.id}`);
    const offered = [{ name: "Provider", path: new URL(provider.signInUrl).pathname }];
    expect((await find(body.slug)).json()).toEqual({ providers: offered });
    expect((await find(` ${String(body.slug).toUpperCase()} `)).json()).toEqual({ providers: offered });
  });

  test("answers the same for a tenant without enabled providers as for none", async () => {
    const { id } = await server.newTenant();
    const { body } = await server.operator.must.get(`/operator/tenants/${id}`);
    const replies = await Promise.all([body.slug, "no-such-tenant", "ada@example.com", "none.example.com"].map(find));
    for (const reply of replies) expect([reply.statusCode, reply.json()]).toEqual([200, { providers: [] }]);
  });

  test.each([[""], ["x".repeat(300)], [7], [undefined]])("refuses %s", async (name) => {
    expect((await find(name)).statusCode).toBe(400);
  });
});
