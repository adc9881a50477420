/** The relying party against oidc-provider, a certified implementation by other authors. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { allowedNetworks } from "../../platform/outbound/outbound-networks.ts";
import { performExchange } from "../../platform/outbound/perform-exchange.ts";
import { finishSignIn, startSignIn } from "./relying-party.ts";

const redirectUri = "http://127.0.0.1:1/sign-in/callback";
const access = { tenantId: "acme", networks: allowedNetworks(["127.0.0.0/8"]), exchange: performExchange };
const client = { clientId: "gatehouse", clientSecret: "a-secret-of-the-client" };
let server: Server;
let issuer: string;

beforeAll(async () => {
  // The provider recommends settings for production, already when it is imported.
  for (const method of ["warn", "info"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
  const { default: Provider } = await import("oidc-provider");
  server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // of a server that listens on TCP
  const provider = new Provider(issuer, {
    clients: [{ client_id: client.clientId, client_secret: client.clientSecret, redirect_uris: [redirectUri] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    scopes: ["openid", "email", "groups"],
    cookies: { keys: ["a-key-for-cookies"] },
    pkce: { required: () => true },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: `${sub}@example.com`, email_verified: true, groups: ["Engineers"] }),
    }),
  });
  server.on("request", provider.callback());
});
afterAll(async () => {
  vi.restoreAllMocks();
  server.close();
  server.closeAllConnections();
  await once(server, "close");
});

/** Follows redirects with cookies, and signs in on the provider's pages, until the browser returns to Gatehouse. */
async function browse(start: URL, login: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20 && !url.href.startsWith(redirectUri); step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const body = form;
    form = undefined;
    const method = body === undefined ? "GET" : "POST";
    const answer = await fetch(url, { method, headers: { cookie }, redirect: "manual", ...(body && { body }) });
    for (const text of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get("location");
    if (location !== null) {
      url = new URL(location, url);
      continue;
    }
    const page = await answer.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? "";
    if (action === undefined) throw new Error(`no form in ${page}`);
    url = new URL(action, url);
    form = new URLSearchParams({ prompt, login, password: "any" });
  }
  return url;
}

const provider = () => ({ issuer, ...client, scopes: ["email", "groups"], groupsClaim: "groups" });

test("a person signs in, and UserInfo contains the groups", async () => {
  const { url, secrets } = await startSignIn(provider(), access, { redirectUri, maxAgeSeconds: 900 });
  const callback = await browse(url, "ada");
  expect(await finishSignIn(provider(), access, callback, secrets)).toMatchObject({
    issuer,
    subject: "ada",
    email: "ada@example.com",
    emailVerified: true,
    groups: ["Engineers"],
    authTime: expect.any(Date),
  });
  // A code is accepted once.
  await expect(finishSignIn(provider(), access, callback, secrets)).rejects.toMatchObject({ code: "provider_refused" });
});

test("a wrong client secret is refused", async () => {
  const { url, secrets } = await startSignIn(provider(), access, { redirectUri });
  const callback = await browse(url, "ada");
  const wrong = { ...provider(), clientSecret: "another-secret-of-the-client" };
  await expect(finishSignIn(wrong, access, callback, secrets)).rejects.toMatchObject({ code: "provider_refused" });
});
