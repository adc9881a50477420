/** Sign-in, back-channel logout and sign-out with oidc-provider, a certified implementation by other authors. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ProviderBrowser } from "../../testing/provider-browser.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const client = { clientId: "gatehouse", clientSecret: "a-secret-of-the-client" };
let op: Server;
let server: TestServer;
let tenant: TestTenant;
let publicUrl = "";
let provider: Readonly<Record<"id" | "signInUrl" | "redirectUri", string>>;

beforeAll(async () => {
  // The provider recommends settings for production, already when it is imported.
  for (const method of ["warn", "info"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
  const { default: Provider } = await import("oidc-provider");
  op = createServer();
  op.listen(0, "127.0.0.1");
  await once(op, "listening");
  const issuer = `http://127.0.0.1:${(op.address() as AddressInfo).port}`; // of a server that listens on TCP
  server = await startTestServer({ settings: { providerNetworks: ["127.0.0.0/8"], publicUrl: () => publicUrl } });
  publicUrl = await server.listen();
  tenant = await server.newTenant();
  const body = { name: "OP", issuer, ...client, scopes: ["email"], firstSignIn: "INVITED", linkVerifiedEmail: true };
  const made = (await tenant.client.must.post("/tenants/identity-providers", body)).body;
  provider = made;
  const implementation = new Provider(issuer, {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [made.redirectUri],
        post_logout_redirect_uris: [made.postLogoutRedirectUri],
        backchannel_logout_uri: made.backChannelLogoutUri,
        backchannel_logout_session_required: true,
      },
    ],
    features: { backchannelLogout: { enabled: true } },
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    scopes: ["openid", "email"],
    cookies: { keys: ["a-key-for-cookies"] },
    pkce: { required: () => true },
    // Its own guard refuses the loopback network, in which the test runs.
    fetch: (url: string | URL | Request, given?: RequestInit) => {
      const { dispatcher: _guard, ...options } = (given ?? {}) as RequestInit & { dispatcher?: unknown };
      return fetch(url, options);
    },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: `${sub}@example.com`, email_verified: true }),
    }),
  });
  op.on("request", implementation.callback());
});
afterAll(async () => {
  vi.restoreAllMocks();
  await server.close();
  op.close();
  op.closeAllConnections();
  await once(op, "close");
});

const browserOf = (login: string) =>
  new ProviderBrowser({ publicUrl, answers: { login, password: "any", logout: "yes" } });

test("a sign-out at the provider ends the session of this browser and no other", async () => {
  const path = `/tenants/identity-providers/${provider.id}`;
  await tenant.client.must.post("/tenants/users", { email: "ada@example.com" });
  const { url } = (await tenant.client.must.post(`${path}/test`)).body;
  expect((await browserOf("ada").open(url)).page).toContain("succeeded");
  await tenant.client.must.patch(path, { enabled: true });
  const [one, two] = [browserOf("ada"), browserOf("ada")];
  for (const browser of [one, two]) {
    await browser.open(provider.signInUrl);
    expect(await browser.isSignedIn()).toBe(true);
  }
  const left = await one.open(`${provider.signInUrl}/sign-out`);
  expect(left.url.href).toBe(`${publicUrl}/console/`);
  // The provider has sent the logout token before it sent the browser back.
  expect([await one.isSignedIn(), await two.isSignedIn()]).toEqual([false, true]);
  const { body } = await tenant.client.must.get("/tenants/events?filter[operation]=backChannelLogout");
  expect(body.data).toHaveLength(1);
});

test("a person confirms the identity at the provider", async () => {
  await tenant.client.must.post("/tenants/users", { email: "ben@example.com" });
  const browser = browserOf("ben");
  await browser.open(provider.signInUrl);
  const { page } = await browser.open(`${provider.signInUrl}?confirm=1`);
  expect(page).toContain("Your identity is confirmed");
});
