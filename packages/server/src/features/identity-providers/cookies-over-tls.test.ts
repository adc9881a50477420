/** Over TLS, a sign-in uses only cookies that no other host of the site can set. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { HostileProvider } from "../../testing/hostile-provider.ts";
import { ProviderWorld, providerTestUrl } from "../../testing/provider-world.ts";
import { startTestServer, type TestServer } from "../../testing/test-server.ts";

/** Browsers send this header only from secure contexts; localhost is one without TLS. */
const overTls = { "sec-fetch-site": "none", host: "gatehouse.example.com" };
let hostile: HostileProvider;
let server: TestServer;
let world: ProviderWorld;

beforeAll(async () => {
  hostile = await HostileProvider.start();
  server = await startTestServer({
    settings: { providerNetworks: ["127.0.0.0/8"], publicUrl: () => providerTestUrl },
  });
  world = new ProviderWorld(server, await server.newTenant(), hostile);
});
afterAll(async () => {
  await server?.close();
  await hostile?.close();
});

const pathOf = (url: string) => url.replace(providerTestUrl, "");
const cookiesOf = (reply: { readonly headers: Readonly<Record<string, unknown>> }) =>
  [reply.headers["set-cookie"] ?? []].flat().map(String);

async function depart(signInUrl: string) {
  const departed = await server.app.inject({ method: "GET", url: pathOf(signInUrl), headers: overTls });
  const [ceremony = ""] = cookiesOf(departed);
  const callback = hostile.approve(new URL(String(departed.headers.location)));
  return { ceremony, callback: pathOf(callback.href) };
}

test("every cookie that a sign-in sets is Secure and has the prefix", async () => {
  await world.invite("ada@example.com");
  const { signInUrl } = await world.enabledProvider({ firstSignIn: "INVITED" });
  const { ceremony, callback } = await depart(signInUrl);
  expect(ceremony).toMatch(/^__Host-gatehouse_oidc=/);
  const headers = { ...overTls, cookie: ceremony.split(";", 1)[0] };
  const arrived = await server.app.inject({ method: "GET", url: callback, headers });
  const set = cookiesOf(arrived).filter((cookie) => !/=;/.test(cookie));
  expect(set.map((cookie) => cookie.split("=", 1)[0])).toEqual([
    "__Host-gatehouse_session",
    "__Host-gatehouse_id_token",
  ]);
  for (const cookie of [ceremony, ...set]) {
    expect(cookie.split("; ")).toEqual(expect.arrayContaining(["Path=/", "HttpOnly", "Secure"]));
  }
});

test("the ceremony's cookie without the prefix does not count: another host of the site could have set it", async () => {
  const { signInUrl } = await world.enabledProvider({ name: "Second", firstSignIn: "INVITED" });
  const { ceremony, callback } = await depart(signInUrl);
  const cookie = (ceremony.split(";", 1)[0] ?? "").replace("__Host-", "");
  const refused = await server.app.inject({ method: "GET", url: callback, headers: { ...overTls, cookie } });
  expect(refused.statusCode).toBe(401);
  expect(cookiesOf(refused).filter((text) => /gatehouse_session=[^;]/.test(text))).toEqual([]);
});
