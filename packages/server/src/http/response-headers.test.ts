import { beforeAll, describe, expect, test } from "vitest";
import { make } from "../testing/operations/test-records.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";

let server: TestServer;
let tenant: TestTenant;
beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
});

const vary = "apikey, Authorization, Cookie, Accept-Encoding";

describe("caches", () => {
  test.each(["/tenants/users", "/tenants/protocols", "/tenants/configuration", "/tenants/access/findings"])(
    "may keep %s for its reader, and must check it before each use",
    async (path) => {
      const { headers } = await tenant.client.get(path);
      expect(headers).toMatchObject({
        "cache-control": "private, no-cache",
        vary,
        "x-content-type-options": "nosniff",
      });
      expect(headers.etag).toBeDefined();
    },
  );

  test("must not keep gateways with their tokens, and may keep them without", async () => {
    const gateway = await make("gateway", tenant.client);
    const reader = server.client(await tenant.keyWith("gateways:read", "policies:read", "resources:read"));
    for (const path of [
      "/tenants/gateways",
      `/tenants/gateways/${gateway.id}`,
      "/tenants/policies",
      "/tenants/resources",
    ]) {
      expect((await tenant.client.get(path)).headers["cache-control"], path).toBe("no-store");
      expect((await reader.get(path)).headers["cache-control"], path).toBe("private, no-cache");
    }
  });

  test("must not keep answers to changes, questions and errors", async () => {
    const replies = [
      await tenant.client.post("/tenants/api-keys", { name: "Key", permissions: ["users:read"] }),
      await tenant.client.get("/tenants/users/no-id"),
      await tenant.client.get("/tenants/users/%ff"),
      await tenant.client.get("/tenants/nothing"),
      await server.client(undefined).get("/tenants/users"),
      await tenant.client.post("/tenants/admission-rules/check", { rule: "true" }),
    ];
    for (const { headers, text } of replies) {
      expect(headers, text).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    }
  });

  test("a list that is unchanged has the same tag, which If-Match does not accept", async () => {
    const [first, second] = [await tenant.client.get("/tenants/users"), await tenant.client.get("/tenants/users")];
    expect(first.headers.etag).toMatch(/^W\/"/);
    expect(second.headers.etag).toBe(first.headers.etag);
    const id = first.body.data[0].id;
    const reply = await tenant.client.patch(
      `/tenants/users/${id}`,
      { maxDevices: 3 },
      { "if-match": first.headers.etag ?? "" },
    );
    expect(reply.status).toBe(412);
    await tenant.client.patch(`/tenants/users/${id}`, { maxDevices: 3 });
    expect((await tenant.client.get("/tenants/users")).headers.etag).not.toBe(first.headers.etag);
  });
});

describe("If-None-Match", () => {
  test.each(["/tenants/users", "/tenants/protocols", "/tenants/users?limit=1&sort=-email"])(
    "gets 304 for an unchanged list (%s), and the list after a change",
    async (path) => {
      const own = await server.newTenant();
      const { etag = "" } = (await own.client.get(path)).headers;
      for (const tag of [etag, etag.replace("W/", ""), `"other", ${etag}`, "*"]) {
        const reply = await own.client.get(path, { "if-none-match": tag });
        expect(reply).toMatchObject({ status: 304, text: "" });
        expect(reply.headers).toMatchObject({ etag, "cache-control": "private, no-cache", vary });
      }
      expect((await own.client.get(path, { "if-none-match": `"${etag}"` })).status).toBe(200);
      const noun = path.startsWith("/tenants/users") ? "user" : "protocol";
      await make(noun, own.client);
      expect((await own.client.get(path, { "if-none-match": etag })).status).toBe(200);
    },
  );

  test("gives no list to a key that may not read it", async () => {
    const { etag = "" } = (await tenant.client.get("/tenants/users")).headers;
    const headers = { "if-none-match": etag };
    expect((await server.client(await tenant.keyWith("groups:read")).get("/tenants/users", headers)).status).toBe(403);
    expect((await server.client("x".repeat(40)).get("/tenants/users", headers)).status).toBe(401);
    const other = await server.newTenant();
    expect((await other.client.get("/tenants/users", headers)).status).toBe(200);
  });

  test("gets what the key may see, if another key of the tenant sees more", async () => {
    await make("gateway", tenant.client);
    const reader = server.client(await tenant.keyWith("gateways:read"));
    const { etag = "" } = (await tenant.client.get("/tenants/gateways")).headers;
    const seen = await reader.get("/tenants/gateways", { "if-none-match": etag });
    expect(seen.status).toBe(200);
    expect((await reader.get("/tenants/gateways", { "if-none-match": seen.headers.etag ?? "" })).status).toBe(304);
  });

  test("means nothing for a single record, whose embedded values change without its version", async () => {
    const user = await make("user", tenant.client);
    const { etag = "" } = (await tenant.client.get(`/tenants/users/${user.id}`)).headers;
    expect((await tenant.client.get(`/tenants/users/${user.id}`, { "if-none-match": etag })).status).toBe(200);
  });
});

describe("a key in Authorization: Bearer", () => {
  const get = (path: string, headers: Readonly<Record<string, string>>) => server.client(undefined).get(path, headers);

  test.each(["Bearer", "bearer", "BEARER"])("counts like one in apikey (%s)", async (scheme) => {
    expect((await get("/tenants/users", { authorization: `${scheme} ${tenant.key}` })).status).toBe(200);
    const evaluation = {
      subject: { type: "user", id: "nobody@example.com" },
      action: { name: "connect" },
      resource: { type: "address", id: "192.0.2.1" },
    };
    const headers = { authorization: `${scheme} ${tenant.key}` };
    expect((await server.client(undefined).post("/access/v1/evaluation", evaluation, headers)).status).toBe(200);
    const operator = { authorization: `${scheme} ${server.operatorKey}` };
    expect((await get("/operator/tenants", operator)).status).toBe(200);
    expect((await server.client(undefined).post("/console/session", undefined, headers)).status).toBe(201);
  });

  test("may be sent in both headers, if they are equal", async () => {
    const { key } = tenant;
    expect((await get("/tenants/users", { apikey: key, authorization: `Bearer ${key}` })).status).toBe(200);
  });

  test("gets 400 beside another key, and no key is tried", async () => {
    const other = await tenant.keyWith("users:read");
    for (const headers of [
      { apikey: tenant.key, authorization: `Bearer ${other}` },
      { apikey: "x".repeat(40), authorization: `Bearer ${tenant.key}` },
      { apikey: `${tenant.key}, ${other}` },
    ]) {
      const reply = await get("/tenants/users", headers);
      expect(reply).toMatchObject({ status: 400, body: { code: "invalid_parameter" } });
      expect(reply.text).not.toContain(tenant.key);
    }
  });

  test.each([
    ["a wrong key", `Bearer ${"x".repeat(60)}`, "invalid_api_key"],
    ["a key that is too long", `Bearer ${"x".repeat(500)}`, "invalid_api_key"],
    ["no token", "Bearer", "missing_api_key"],
    ["another scheme", "Basic dXNlcjpwYXNzd29yZA==", "missing_api_key"],
  ])("with %s gets 401", async (_what, authorization, code) => {
    const reply = await get("/tenants/users", { authorization });
    expect(reply).toMatchObject({ status: 401, body: { code } });
    expect(reply.headers["www-authenticate"]).toContain("Bearer");
  });

  test("does not replace a key, if it has another scheme", async () => {
    const headers = { apikey: tenant.key, authorization: "Basic dXNlcjpwYXNzd29yZA==" };
    expect((await get("/tenants/users", headers)).status).toBe(200);
  });
});
