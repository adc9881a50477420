/** Another site cannot sign a person in to its own organisation, and a sign-in is finished once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl, sessionOf } from "../../testing/provider-world.ts";
import { createDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

let hostile: HostileProvider;
let server: TestServer;
/** Another replica. */
let other: TestServer;
let world: ProviderWorld;
let signInUrl: string;
let providerId: string;

const settings = { providerNetworks: ["127.0.0.0/8"], publicUrl: () => providerTestUrl };
beforeAll(async () => {
  hostile = await HostileProvider.start();
  const { connection } = await createDatabase();
  server = await startTestServer({ connection, settings });
  other = await startTestServer({ connection, settings });
});
beforeEach(async () => {
  world = new ProviderWorld(server, await server.newTenant(), hostile);
  await world.invite("ada@example.com");
  ({ signInUrl, id: providerId } = await world.enabledProvider({ name: "<Staff>", firstSignIn: "INVITED" }));
});
afterAll(async () => {
  await Promise.all([server?.close(), other?.close()]);
  await hostile?.close();
});

const host = "localhost:8080";
const pathOf = (url: string) => url.replace(providerTestUrl, "");
const cookieOf = (reply: { readonly headers: Readonly<Record<string, unknown>> }) =>
  String(reply.headers["set-cookie"]).split(";", 1)[0] ?? "";

function send(method: "GET" | "POST", url: string, headers: Readonly<Record<string, string>>, replica = server) {
  const form = method === "POST" ? { "content-type": "application/x-www-form-urlencoded" } : {};
  return replica.app.inject({ method, url: pathOf(url), headers: { host, ...form, ...headers } });
}

describe("a sign-in that another site starts", () => {
  const elsewhere = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    // An old browser, or one that loads the page without TLS.
    {},
  ];

  test.each(elsewhere)("shows a question that names the organisation: %j", async (headers) => {
    const reply = await send("GET", `${signInUrl}?return=/console/code%23A`, headers);
    expect([reply.statusCode, reply.headers["set-cookie"]]).toEqual([200, undefined]);
    expect(reply.body).toMatch(/<h1>Sign in to Tenant [\da-f]+\?<\/h1>/);
    expect(reply.body).toContain(`&lt;Staff&gt; at ${new URL(hostile.issuer).host}`);
    expect(reply.body).toContain(`action="${pathOf(signInUrl)}?return=%2Fconsole%2Fcode%23A"`);
    expect(reply.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  test.each([{ "sec-fetch-site": "same-origin" }, { origin: `http://${host}` }])(
    "continues with the button of the page: %j",
    async (headers) => {
      const departed = await send("POST", `${signInUrl}?return=/console/code`, headers);
      expect(departed.statusCode).toBe(303);
      const callback = hostile.approve(new URL(String(departed.headers.location)));
      const arrived = await send("GET", callback.href, { cookie: cookieOf(departed), "sec-fetch-site": "cross-site" });
      expect(sessionOf(arrived)).toBeDefined();
      expect(arrived.body).toContain("url=/console/code");
    },
  );

  test.each([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "none" },
    { origin: "https://other.example.com" },
    { origin: "null" },
    {},
  ])("does not continue with a form of another page: %j", async (headers) => {
    const reply = await send("POST", signInUrl, headers);
    expect([reply.statusCode, reply.headers["set-cookie"]]).toEqual([403, undefined]);
  });

  test.each(["ticket=a&ticket=b", "ticket[]=a", "confirm=1", "confirm=1&ticket=a"])(
    "does not continue with the query %s",
    async (query) => {
      const reply = await send("GET", `${signInUrl}?${query}`, { "sec-fetch-site": "cross-site" });
      expect(reply.statusCode).not.toBe(302);
    },
  );

  test("says nothing about a provider that is disabled or unknown", async () => {
    await world.tenant.client.must.patch(`/tenants/identity-providers/${providerId}`, { enabled: false });
    for (const url of [signInUrl, signInUrl.replace(/[^/]*$/, world.tenant.id)]) {
      const reply = await send("GET", url, { "sec-fetch-site": "cross-site" });
      expect([reply.statusCode, reply.body.includes("Staff")]).toEqual([404, false]);
    }
  });

  test("leads at once to the provider for a test, which signs nobody in", async () => {
    const { body } = await world.tenant.client.must.post(`/tenants/identity-providers/${providerId}/test`);
    expect((await send("GET", body.url, { "sec-fetch-site": "cross-site" })).statusCode).toBe(302);
  });
});

test.each(["same-origin", "none"])("a sign-in with Sec-Fetch-Site %s leads at once to the provider", async (site) => {
  expect((await send("GET", signInUrl, { "sec-fetch-site": site })).statusCode).toBe(302);
});

describe("a provider's answer is accepted once", () => {
  test("for a sign-in, also by two replicas at once", async () => {
    const departed = await world.open(signInUrl);
    const callback = hostile.approve(new URL(String(departed.headers.location))).href;
    const headers = { cookie: cookieOf(departed) };
    const replies = await Promise.all([server, other].map((replica) => send("GET", callback, headers, replica)));
    expect(replies.map(({ statusCode }) => statusCode).sort()).toEqual([200, 401]);
    expect((await send("GET", callback, headers, other)).statusCode).toBe(401);
    expect((await world.signIns())[0]).toMatchObject({
      outcome: "failed",
      reason: "the sign-in was finished before",
      user: { email: "ada@example.com" },
    });
  });

  test("for a confirmation", async () => {
    const cookie = await world.signIn(signInUrl);
    const departed = await world.open(`${signInUrl}?confirm=1`, cookie);
    const callback = hostile.approve(new URL(String(departed.headers.location))).href;
    const statuses: number[] = [];
    for (let visit = 0; visit < 2; visit += 1) {
      statuses.push((await send("GET", callback, { cookie: cookieOf(departed) })).statusCode);
    }
    expect(statuses).toEqual([200, 401]);
  });

  test("for a test", async () => {
    const { body } = await world.tenant.client.must.post(`/tenants/identity-providers/${providerId}/test`);
    const departed = await world.open(body.url);
    const callback = hostile.approve(new URL(String(departed.headers.location))).href;
    const statuses: number[] = [];
    for (let visit = 0; visit < 2; visit += 1) {
      statuses.push((await send("GET", callback, { cookie: cookieOf(departed) })).statusCode);
    }
    expect(statuses).toEqual([200, 401]);
  });
});
