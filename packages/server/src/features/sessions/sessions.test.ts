import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { startTestServer, type TestReply, type TestServer, type TestTenant } from "../../testing/test-server.ts";

const session = "/console/session";
const fromPage = { "sec-fetch-site": "same-origin" };
const minuteMs = 60_000;

const clock = new TestClock();
let server: TestServer;
let tenant: TestTenant;
beforeAll(async () => {
  server = await startTestServer({ clock });
  tenant = await server.newTenant();
});
afterAll(() => server.close());

/** The `name=value` of the cookie that an answer sets. */
const cookieOf = ({ headers }: TestReply): string => headers["set-cookie"]?.split(";")[0] ?? "";

async function signIn(key: string, headers: Readonly<Record<string, string>> = fromPage): Promise<string> {
  const reply = await server.client(key).post(session, undefined, headers);
  expect(reply.status, reply.text).toBe(201);
  return cookieOf(reply);
}

const call = (method: "GET" | "POST" | "DELETE", path: string, cookie: string, headers: object = fromPage) =>
  server.client(undefined).send(method, path, method === "POST" ? { name: "Made by hand" } : undefined, {
    cookie,
    ...headers,
  });
const users = (cookie: string, headers?: object) => call("GET", "/tenants/users", cookie, headers);

describe("signing in", () => {
  test("exchanges a key for a cookie that scripts cannot read and other sites do not send", async () => {
    const reply = await tenant.client.post(session, undefined, fromPage);
    expect(reply.headers["set-cookie"]).toMatch(
      /^gatehouse_session=gatehouse_session_\w{49}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect(reply.headers["cache-control"]).toBe("no-store");
    expect(reply.text).not.toContain(cookieOf(reply).split("=")[1]);
    expect(reply.text).not.toContain(tenant.key);
  });

  test("marks the cookie Secure and names it for this host alone when the page came over TLS", async () => {
    const reply = await tenant.client.post(session, undefined, {
      origin: "https://localhost:80",
      host: "localhost:80",
    });
    expect(reply.headers["set-cookie"]).toMatch(
      /^__Host-gatehouse_session=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect((await users(cookieOf(reply))).status).toBe(200);
  });

  test("over TLS, a cookie without the prefix does not count: another host of the site could have set it", async () => {
    const plain = await signIn(tenant.key);
    const overTls = [
      { origin: "https://gatehouse.example.com", host: "gatehouse.example.com" },
      { "sec-fetch-site": "same-origin", host: "gatehouse.example.com" },
    ];
    for (const headers of overTls) expect((await users(plain, headers)).body.code).toBe("missing_api_key");
    expect((await users(plain, { host: "gatehouse.example.com" })).status).toBe(200);
    const reply = await server.client(undefined).get(session, { cookie: plain, ...overTls[1] });
    expect(reply.status).toBe(204);
  });

  test("accepts API keys, and refuses the operator's key", async () => {
    const wrong = generateToken(tokenPrefixes.apiKey);
    for (const key of [wrong, server.operatorKey, generateToken(tokenPrefixes.session)]) {
      const { status, body, headers } = await server.client(key).post(session, undefined, fromPage);
      expect({ status, code: body.code }).toEqual({ status: 401, code: "invalid_api_key" });
      expect(headers["set-cookie"]).toBeUndefined();
    }
    expect((await server.client(undefined).post(session, undefined, fromPage)).body.code).toBe("missing_api_key");
  });

  test("cannot be extended by signing in with a session", async () => {
    const cookie = await signIn(tenant.key);
    expect((await call("POST", session, cookie)).body.code).toBe("missing_api_key");
  });

  test("is refused to pages of others", async () => {
    const elsewhere = { origin: "https://elsewhere.example.com", "sec-fetch-site": "cross-site" };
    expect((await tenant.client.post(session, undefined, elsewhere)).body.code).toBe("foreign_origin");
  });

  test("ends the session that the browser had before", async () => {
    const before = await signIn(tenant.key);
    const after = await signIn(tenant.key, { ...fromPage, cookie: before });
    expect((await users(before)).body.code).toBe("session_ended");
    expect((await users(after)).status).toBe(200);
  });
});

describe("the session's description", () => {
  test("has key, tenant, permissions and times, and no secrets", async () => {
    const key = await tenant.keyWith("users:read");
    const { status, body } = await call("GET", session, await signIn(key));
    expect(status).toBe(200);
    expect(body).toEqual({
      apiKey: { id: expect.any(String), name: "Test key" },
      tenant: { id: tenant.id, name: expect.stringMatching(/^Tenant /), slug: expect.stringMatching(/^tenant-/) },
      permissions: ["users:read"],
      createdAt: clock.now().toISOString(),
      expiresAt: new Date(clock.now().getTime() + 12 * 60 * minuteMs).toISOString(),
      idleSeconds: 3600,
    });
  });

  test("is empty without a session, which is not an error", async () => {
    expect((await call("GET", session, "other=1")).status).toBe(204);
    const over = await call("GET", session, `gatehouse_session=${generateToken(tokenPrefixes.session)}`);
    expect(over.status).toBe(204);
    expect(over.headers["set-cookie"]).toContain("Max-Age=0");
  });
});

describe("a session", () => {
  test("has the permissions of its key, and is recorded as the key", async () => {
    const cookie = await signIn(await tenant.keyWith("groups:read", "groups:write", "events:read"));
    const made = await call("POST", "/tenants/groups", cookie);
    expect(made.status, made.text).toBe(201);
    const events = await call("GET", `/tenants/events?filter[target.id]=${made.body.id}`, cookie);
    expect(events.body.data[0].actor).toMatchObject({ type: "api-key", name: "Test key" });
    expect((await users(cookie)).body.code).toBe("permission_denied");
  });

  test("gives way to a key that is sent beside it", async () => {
    const cookie = await signIn(tenant.key);
    const reply = await server.client(await tenant.keyWith("groups:read")).get("/tenants/users", { cookie });
    expect(reply.body.code).toBe("permission_denied");
  });

  test("says nothing to operations of the operator", async () => {
    expect((await call("GET", "/operator/tenants", await signIn(tenant.key))).body.code).toBe("missing_api_key");
  });

  test("ends when it is signed out, for every copy of the cookie", async () => {
    const cookie = await signIn(tenant.key);
    const reply = await call("DELETE", session, cookie);
    expect(reply.status).toBe(204);
    expect(reply.headers["set-cookie"]).toContain("Max-Age=0");
    expect((await users(cookie)).body.code).toBe("session_ended");
    expect((await call("DELETE", session, cookie)).status).toBe(204);
  });

  test("ends with its key", async () => {
    const made = await tenant.client.post("/tenants/api-keys", { name: "Short", permissions: ["users:read"] });
    const cookie = await signIn(made.body.key);
    expect((await users(cookie)).status).toBe(200);
    await tenant.client.must.delete(`/tenants/api-keys/${made.body.id}`);
    expect((await users(cookie)).body.code).toBe("session_ended");
  });

  test("ends with its key at the latest, even if the key's expiry moved after signing in", async () => {
    const expiresAt = new Date(clock.now().getTime() + 10 * minuteMs).toISOString();
    const made = await tenant.client.post("/tenants/api-keys", {
      name: "Brief",
      permissions: ["users:read"],
      expiresAt,
    });
    const cookie = await signIn(made.body.key);
    expect((await call("GET", session, cookie)).body.expiresAt).toBe(expiresAt);
    const lasting = await tenant.client.post("/tenants/api-keys", { name: "Lasting", permissions: ["users:read"] });
    const rotated = await signIn(lasting.body.key);
    await tenant.client.must.post(`/tenants/api-keys/${lasting.body.id}/rotate`, { graceSeconds: 60 });
    clock.advance(2 * minuteMs);
    expect((await users(rotated)).body.code).toBe("session_ended");
    expect((await users(cookie)).status).toBe(200);
    clock.advance(8 * minuteMs);
    expect((await users(cookie)).body.code).toBe("session_ended");
  });

  test("can be used from the addresses of its key", async () => {
    const body = { name: "Placed", permissions: ["users:read"], sourceIps: ["127.0.0.1"] };
    const { body: made } = await tenant.client.post("/tenants/api-keys", body);
    const cookie = await signIn(made.key);
    const reply = await server.app.inject({ url: "/tenants/users", headers: { cookie }, remoteAddress: "192.0.2.7" });
    expect(reply.json().code).toBe("source_address_not_allowed");
  });

  test("ends after an hour without use", async () => {
    const cookie = await signIn(tenant.key);
    clock.advance(59 * minuteMs);
    expect((await users(cookie)).status).toBe(200);
    clock.advance(59 * minuteMs);
    expect((await users(cookie)).status).toBe(200);
    clock.advance(61 * minuteMs);
    expect((await users(cookie)).body.code).toBe("session_ended");
  });

  test("ends after twelve hours, however much it is used", async () => {
    const cookie = await signIn(tenant.key);
    for (let halfHours = 1; halfHours < 24; halfHours += 1) {
      clock.advance(30 * minuteMs);
      expect((await users(cookie)).status).toBe(200);
    }
    clock.advance(30 * minuteMs);
    expect((await users(cookie)).body.code).toBe("session_ended");
  });
});

describe("requests that a cookie speaks for", () => {
  const changes = [
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["another host of the site", { "sec-fetch-site": "same-site" }],
    ["an address that was entered", { "sec-fetch-site": "none" }],
    ["an origin of another host", { origin: "http://elsewhere.example.com" }],
    ["an origin of another port", { origin: "http://localhost:8081", host: "localhost:8080" }],
    ["an origin that hides itself", { origin: "null" }],
    ["nowhere that it says", {}],
  ] as const;
  test.each(changes)("change nothing when they come from %s", async (_what, headers) => {
    const cookie = await signIn(tenant.key);
    expect((await call("POST", "/tenants/groups", cookie, headers)).body.code).toBe("foreign_origin");
    expect((await call("DELETE", session, cookie, headers)).body.code).toBe("foreign_origin");
    expect((await users(cookie)).status).toBe(200);
  });

  test("are answered to pages of ours, by either header", async () => {
    const cookie = await signIn(tenant.key);
    const origin = { origin: "http://localhost:8080", host: "localhost:8080" };
    expect((await users(cookie, origin)).status).toBe(200);
    expect((await call("DELETE", session, cookie, origin)).status).toBe(204);
  });

  test("read nothing for other sites", async () => {
    const cookie = await signIn(tenant.key);
    for (const site of ["cross-site", "same-site"]) {
      expect((await users(cookie, { "sec-fetch-site": site })).body.code).toBe("foreign_origin");
    }
  });
});

test("too many failed sign-ins block the address, except for existing sessions", async () => {
  const limited = await startTestServer({ settings: { rateLimits: { perMinute: 0, authFailures: 3, shared: false } } });
  try {
    const { key, client } = await limited.newTenant();
    const cookie = cookieOf(await client.post(session, undefined, fromPage));
    expect((await limited.client(undefined).get("/tenants/users", { cookie, ...fromPage })).status).toBe(200);
    const wrong = limited.client(generateToken(tokenPrefixes.apiKey));
    for (let tries = 0; tries < 3; tries += 1) {
      expect((await wrong.post(session, undefined, fromPage)).body.code).toBe("invalid_api_key");
    }
    expect((await wrong.post(session, undefined, fromPage)).body.code).toBe("too_many_failed_authentications");
    expect((await limited.client(undefined).get("/tenants/users", { cookie, ...fromPage })).status).toBe(200);
    expect((await limited.client(key).post(session, undefined, fromPage)).status).toBe(201);
  } finally {
    await limited.close();
  }
});
