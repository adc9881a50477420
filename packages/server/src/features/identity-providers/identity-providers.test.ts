import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const publicUrl = "http://localhost:8080";
let server: TestServer;
let hostile: HostileProvider;
let tenant: TestTenant;

beforeAll(async () => {
  hostile = await HostileProvider.start();
  server = await startTestServer({ settings: { providerNetworks: ["127.0.0.0/8"], publicUrl: () => publicUrl } });
});
beforeEach(async () => {
  hostile.deviations = {};
  tenant = await server.newTenant();
});
afterAll(async () => {
  await server.close();
  await hostile.close();
});

/** Creates a provider. */
async function provider(settings: object = {}) {
  const { issuer, clientId, clientSecret } = hostile;
  const body = { name: "Provider", issuer, clientId, clientSecret, ...settings };
  return (await tenant.client.must.post("/tenants/identity-providers", body)).body;
}

async function enabledProvider(settings: object = {}) {
  const made = await provider(settings);
  expect((await tested(made.id)).statusCode).toBe(200);
  return (await tenant.client.must.patch(`/tenants/identity-providers/${made.id}`, { enabled: true })).body;
}

async function tested(id: string) {
  const { body } = await tenant.client.must.post(`/tenants/identity-providers/${id}/test`);
  return visit(body.url);
}

function pathOf(url: string): string {
  return url.replace(publicUrl, "");
}

/** A browser whose person typed the address. */
function open(url: string) {
  const headers = { host: "localhost:8080", "sec-fetch-site": "none" };
  return server.app.inject({ method: "GET", url: pathOf(url), headers });
}

/** A browser that opens the address, signs in at the provider, and returns. */
async function visit(url: string, cookies = (correct: string) => correct) {
  const departed = await open(url);
  if (departed.statusCode !== 302) return departed;
  const callback = hostile.approve(new URL(String(departed.headers.location)));
  const cookie = cookies(String(departed.headers["set-cookie"]).split(";", 1)[0] ?? "");
  return server.app.inject({ method: "GET", url: pathOf(callback.href), headers: { cookie } });
}

/** The session that a reply began; undefined if it began none. */
function sessionOf(reply: { readonly headers: Readonly<Record<string, unknown>> }): string | undefined {
  const cookies = [reply.headers["set-cookie"] ?? []].flat().map(String);
  return cookies.map((cookie) => /^gatehouse_session=([^;]+)/.exec(cookie)?.[1]).find((token) => token !== undefined);
}

async function user(email: string, status: "active" | "pending" | "inactive" = "pending"): Promise<string> {
  const { body } = await tenant.client.must.post("/tenants/users", { email });
  if (status === "inactive") await tenant.client.must.patch(`/tenants/users/${body.id}/deactivate`);
  return body.id;
}

describe("a provider", () => {
  test("is enabled only after a test sign-in, and its secret is never shown", async () => {
    const made = await provider();
    expect(made).toMatchObject({ enabled: false, testedAt: null, hasClientSecret: true, scopes: ["email", "profile"] });
    expect(JSON.stringify(made)).not.toContain(hostile.clientSecret);
    const path = `/tenants/identity-providers/${made.id}`;
    const early = await tenant.client.patch(path, { enabled: true });
    expect(early.body).toMatchObject({ status: 409, code: "identity_provider_untested" });
    const test = await tested(made.id);
    expect(test.statusCode).toBe(200);
    expect(test.body).toContain("ada@example.com (verified)");
    expect(sessionOf(test)).toBeUndefined();
    expect((await tenant.client.patch(path, { enabled: true })).body).toMatchObject({ enabled: true });
  });

  test("whose test fails shows the reason, and stays untested", async () => {
    const made = await provider();
    hostile.deviations = { claims: (claims) => ({ ...claims, aud: "<other>" }) };
    const failed = await tested(made.id);
    expect(failed.statusCode).toBe(422);
    expect(failed.body).toContain("&quot;aud&quot;");
    expect((await tenant.client.get(`/tenants/identity-providers/${made.id}`)).body.testedAt).toBeNull();
  });

  test.each([
    ["the issuer", () => ({ issuer: `${hostile.issuer}/other` })],
    ["the client", () => ({ clientId: "other" })],
    ["the secret", () => ({ clientSecret: "other" })],
    ["the scopes", () => ({ scopes: [] })],
  ])("that is enabled refuses to change %s, and needs another test after the change", async (_what, change) => {
    const { id } = await enabledProvider();
    const path = `/tenants/identity-providers/${id}`;
    expect((await tenant.client.patch(path, change())).body).toMatchObject({ code: "identity_provider_enabled" });
    await tenant.client.must.patch(path, { enabled: false });
    expect((await tenant.client.must.patch(path, change())).body.testedAt).toBeNull();
    expect((await tenant.client.patch(path, { enabled: true })).body).toMatchObject({
      code: "identity_provider_untested",
    });
  });

  test.each([
    ["text", "is not a URL"],
    ["ftp://login.example.com", "not https"],
    ["https://user:password@login.example.com", "user name or a password"],
    ["https://login.example.com/?tenant=1", "query or a fragment"],
    ["http://192.0.2.1", "is not https"],
    ["https://10.0.0.1", "not an address on the internet"],
  ])("with the issuer %s is refused", async (issuer, message) => {
    const refused = await tenant.client.post("/tenants/identity-providers", { name: "A", issuer, clientId: "a" });
    expect(refused.body).toMatchObject({
      code: "invalid_issuer",
      errors: [{ message: expect.stringContaining(message) }],
    });
  });

  test("with the name of another one is refused", async () => {
    await provider();
    const { issuer, clientId } = hostile;
    const taken = await tenant.client.post("/tenants/identity-providers", { name: "Provider", issuer, clientId });
    expect(taken.body).toMatchObject({ code: "name_taken" });
  });
});

describe("an enabled provider", () => {
  test("is changed only by callers that hold every permission", async () => {
    const { id } = await provider();
    await tested(id);
    const path = `/tenants/identity-providers/${id}`;
    const limited = server.client(await tenant.keyWith("identity-providers:read", "identity-providers:write"));
    expect(await limited.patch(path, { linkVerifiedEmail: true })).toMatchObject({ status: 200 });
    expect((await limited.patch(path, { enabled: true })).body).toMatchObject({ code: "grants_exceed_caller" });
    await tenant.client.must.patch(path, { enabled: true, linkVerifiedEmail: false });
    const refused = await limited.patch(path, { linkVerifiedEmail: true });
    expect(refused.body).toMatchObject({ code: "grants_exceed_caller" });
    expect(await limited.patch(path, { enabled: false })).toMatchObject({ status: 200 });
  });

  test("that is the owner's last sign-in method cannot be disabled or deleted", async () => {
    const { id, signInUrl } = await enabledProvider({ linkVerifiedEmail: true });
    const path = `/tenants/identity-providers/${id}`;
    const { body } = await tenant.client.must.get("/tenants/users");
    const { email } = body.data.find(({ isOwner }: { isOwner: boolean }) => isOwner);
    hostile.deviations = { userInfo: (info) => ({ ...info, email }) };
    expect((await visit(signInUrl)).statusCode).toBe(200);
    expect((await tenant.client.patch(path, { enabled: false })).body).toMatchObject({ code: "last_way_in" });
    expect((await tenant.client.delete(path)).body).toMatchObject({ code: "last_way_in" });
    const second = await enabledProvider({ name: "Second", linkVerifiedEmail: true });
    hostile.deviations = { userInfo: (info) => ({ ...info, email }) };
    expect((await visit(second.signInUrl)).statusCode).toBe(200);
    expect((await tenant.client.delete(path)).status).toBe(204);
  });
});

test("the sign-in log has attempts with provider, user and reason, and none without a sign-in under way", async () => {
  const id = await user("ada@example.com");
  const made = await enabledProvider();
  expect((await visit(made.signInUrl, () => "")).statusCode).toBe(401);
  expect((await visit(made.signInUrl)).statusCode).toBe(401);
  await tenant.client.must.patch(`/tenants/identity-providers/${made.id}`, { firstSignIn: "INVITED" });
  expect((await visit(made.signInUrl)).statusCode).toBe(200);
  const { body } = await tenant.client.must.get("/tenants/sign-ins?sort=createdAt");
  const shared = {
    method: "oidc",
    provider: { id: made.id, name: "Provider" },
    user: { id, email: "ada@example.com" },
  };
  expect(body.data).toMatchObject([
    { ...shared, outcome: "failed", reason: "ada@example.com is invited, and firstSignIn is NEVER" },
    { ...shared, outcome: "succeeded" },
  ]);
});

describe("a sign-in", () => {
  test("of an invited person with a verified address activates the user, and finds the user by subject later", async () => {
    const id = await user("ada@example.com");
    const { signInUrl } = await enabledProvider({ firstSignIn: "INVITED" });
    const first = await visit(signInUrl);
    expect(first.statusCode).toBe(200);
    expect(sessionOf(first)).toMatch(/^gatehouse_session_/);
    expect((await tenant.client.get(`/tenants/users/${id}`)).body.status).toBe("active");
    hostile.deviations = { userInfo: (info) => ({ ...info, email: "renamed@example.com", email_verified: false }) };
    const again = await visit(signInUrl);
    const described = await server.app.inject({
      method: "GET",
      url: "/console/session",
      headers: { cookie: `gatehouse_session=${sessionOf(again)}`, "sec-fetch-site": "same-origin", host: "localhost" },
    });
    expect(described.json()).toMatchObject({ user: { email: "ada@example.com" } });
  });

  test("links an active user only if the provider's switch is on, and records that", async () => {
    const id = await user("ada@example.com");
    const first = await enabledProvider({ firstSignIn: "INVITED" });
    expect((await visit(first.signInUrl)).statusCode).toBe(200);
    const second = await enabledProvider({ name: "Second", firstSignIn: "INVITED" });
    expect((await visit(second.signInUrl)).statusCode).toBe(401);
    await tenant.client.must.patch(`/tenants/identity-providers/${second.id}`, { linkVerifiedEmail: true });
    expect((await visit(second.signInUrl)).statusCode).toBe(200);
    const { body } = await tenant.client.must.get("/tenants/events?limit=100");
    expect(JSON.stringify(body)).toContain(`"linkedUserId":"${id}"`);
  });

  test.each<[string, object, "pending" | "inactive" | undefined, object]>([
    ["whose address is not verified", { firstSignIn: "INVITED" }, "pending", { email_verified: false }],
    ["whose address is verified only as text", { firstSignIn: "INVITED" }, "pending", { email_verified: "true" }],
    ["whose user is deactivated", { firstSignIn: "INVITED", linkVerifiedEmail: true }, "inactive", {}],
    ["whom nobody invited", { firstSignIn: "INVITED", linkVerifiedEmail: true }, undefined, {}],
    ["who is invited, without first sign-ins", {}, "pending", {}],
  ])("of a person %s begins no session, and says nothing about the reason", async (_what, settings, status, claims) => {
    if (status !== undefined) await user("ada@example.com", status);
    const { signInUrl } = await enabledProvider(settings);
    hostile.deviations = { userInfo: (info) => ({ ...info, ...claims }) };
    const refused = await visit(signInUrl);
    expect(refused.statusCode).toBe(401);
    expect(sessionOf(refused)).toBeUndefined();
    expect(refused.body).toContain("The sign-in failed");
    expect(refused.body).not.toContain("ada@example.com");
  });

  test("links an address in other letters of ASCII, and none whose letters only become ASCII in lower case", async () => {
    await user("kati@example.com");
    const { signInUrl } = await enabledProvider({ firstSignIn: "INVITED", linkVerifiedEmail: true });
    // The Kelvin sign and the capital i with a dot have the lower cases k and i.
    for (const email of ["\u212aati@example.com", "kat\u0130@example.com"]) {
      hostile.deviations = { userInfo: (info) => ({ ...info, email }) };
      expect((await visit(signInUrl)).statusCode, email).toBe(401);
    }
    hostile.deviations = { userInfo: (info) => ({ ...info, email: "KATI@Example.com" }) };
    expect((await visit(signInUrl)).statusCode).toBe(200);
  });

  test.each([
    ["without the cookie of the browser that began it", () => ""],
    ["with a changed cookie", (cookie: string) => `${cookie.slice(0, -4)}AAAA`],
  ])("%s is refused", async (_what, cookies) => {
    await user("ada@example.com");
    const { signInUrl } = await enabledProvider({ firstSignIn: "INVITED" });
    const refused = await visit(signInUrl, cookies);
    expect([refused.statusCode, sessionOf(refused)]).toEqual([401, undefined]);
  });

  test("with the cookie of another provider is refused", async () => {
    await user("ada@example.com");
    const [one, two] = [
      await enabledProvider({ firstSignIn: "INVITED" }),
      await enabledProvider({ name: "Second", firstSignIn: "INVITED" }),
    ];
    const departed = await open(two.signInUrl);
    const other = String(departed.headers["set-cookie"]).split(";", 1)[0] ?? "";
    expect((await visit(one.signInUrl, () => other)).statusCode).toBe(401);
  });

  const asked = "/console/authorize?client_id=gatehouse-cli&state=a%26b%22%3E&code_challenge=c";

  test.each([
    [asked, "/console/authorize?client_id=gatehouse-cli&amp;state=a%26b%22%3E&amp;code_challenge=c"],
    ["/console/code#WDJB-MJHT", "/console/code#WDJB-MJHT"],
    ['/console/users/../groups?q="><script>', "/console/groups?q=%22%3E%3Cscript%3E"],
  ])("returns to the page that asked for it: %s", async (page, next) => {
    await user("ada@example.com");
    const { signInUrl } = await enabledProvider({ firstSignIn: "INVITED" });
    const opened = await visit(`${signInUrl}?return=${encodeURIComponent(page)}`);
    expect(opened.body).toContain(`<meta http-equiv="refresh" content="0;url=${next}">`);
  });

  test("that fails leads back to the page that asked for it", async () => {
    const { signInUrl } = await enabledProvider();
    const refused = await visit(`${signInUrl}?return=${encodeURIComponent("/console/code")}`);
    expect(refused.statusCode).toBe(401);
    expect(refused.body).toContain('<a href="/console/code">');
  });

  test.each([
    "https://other.example.com/console/",
    "//other.example.com/console/",
    "/\\other.example.com/console/",
    "/console/../\\other.example.com",
    "/console/..//other.example.com/console/",
    "/console/oidc/a/b",
    "/console/%6Fidc/a/b",
    "/console/session",
    "/tenants/users",
    "javascript:alert(1)",
    "console/users",
    `/console/users?q=${"a".repeat(2_000)}`,
    "/console//evil",
    "/console/\\..//evil",
    "/console/\n/evil",
    "",
  ])("opens the first page of the console if the page is %s", async (page) => {
    await user("ada@example.com");
    const { signInUrl } = await enabledProvider({ firstSignIn: "INVITED" });
    const opened = await visit(`${signInUrl}?return=${encodeURIComponent(page)}`);
    expect(opened.statusCode).toBe(200);
    expect(opened.body).toContain('<meta http-equiv="refresh" content="0;url=/console/">');
  });

  test("at a provider that is disabled, unknown, or of another tenant looks the same", async () => {
    const { signInUrl } = await provider();
    const other = await server.newTenant();
    const urls = [
      signInUrl,
      signInUrl.replace(/.$/, "z"),
      signInUrl.replace(tenant.id, other.id),
      `${signInUrl}?ticket=a`,
    ];
    const replies = await Promise.all(urls.map((url) => visit(url)));
    for (const { statusCode, body } of replies) expect([statusCode, body]).toEqual([404, replies[0]?.body]);
  });

  test("whose provider sends a binary answer is in the sign-in log", async () => {
    const { signInUrl } = await enabledProvider();
    hostile.deviations = {
      answer: (path, response) =>
        path === "/jwks" &&
        response.writeHead(200, { "content-type": "application/json" }).end("\u001f\u0000") !== undefined,
    };
    expect((await visit(signInUrl)).statusCode).toBe(401);
    const { body } = await tenant.client.must.get("/tenants/sign-ins?sort=-createdAt");
    expect(body.data[0]).toMatchObject({ outcome: "failed", method: "oidc" });
  });

  test("at a provider that does not answer says so", async () => {
    const { signInUrl } = await enabledProvider();
    hostile.deviations = { answer: (_path, response) => response.destroy() !== undefined };
    const refused = await visit(signInUrl);
    expect(refused.statusCode).toBe(502);
    expect(refused.body).toContain("does not answer");
  });
});
