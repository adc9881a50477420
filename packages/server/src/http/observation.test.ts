import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../platform/clock.ts";
import type { CommandRunner } from "../platform/command.ts";
import { createLog } from "../platform/log.ts";
import { generateToken, tokenPrefixes } from "../platform/secrets/tokens.ts";
import { routes } from "../routes.ts";
import { startTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { until } from "../testing/until.ts";
import { createApp } from "./app.ts";
import type { AuthorizationServer } from "./authorization-server.ts";
import type { PeopleSignIn } from "./people.ts";
import type { ProviderSignIn } from "./provider-sign-in.ts";

let server: TestServer;
let tenant: TestTenant;
let lines: string[];

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly requestId: string;
}

function linesOf(requestId: string): Line[] {
  return lines.map((line): Line => JSON.parse(line)).filter((line) => line.requestId === requestId); // as pino writes them
}

async function lineOf(requestId: string | undefined): Promise<Line | undefined> {
  await until("the request is logged", () => linesOf(requestId ?? "").length > 0);
  expect(linesOf(requestId ?? "")).toHaveLength(1);
  return linesOf(requestId ?? "")[0];
}

beforeAll(async () => {
  lines = [];
  const log = createLog("info", { write: (line) => lines.push(line) });
  server = await startTestServer({
    settings: { log, metrics: true, rateLimits: { perMinute: 1_000, authFailures: 2, shared: false } },
  });
  tenant = await server.newTenant();
  await server.listen();
});
beforeEach(() => {
  lines.length = 0;
});
afterAll(() => server.close());

describe("the log", () => {
  test("has one line for each request with the operation, the outcome and the caller", async () => {
    const { headers, body } = await tenant.client.post("/tenants/groups", { name: "Logged" });
    const keys = await tenant.client.get("/tenants/api-keys");
    const made = { requestId: headers["x-request-id"], method: "POST", route: "/tenants/groups", status: 201 };
    const line = await lineOf(headers["x-request-id"]);
    expect(line).toEqual({
      ...made,
      level: 30,
      time: expect.any(String),
      durationMs: expect.any(Number),
      tenantId: tenant.id,
      actorId: keys.body[0].id,
      msg: "request",
    });
    const read = await tenant.client.get(`/tenants/groups/${body.id}`);
    expect(await lineOf(read.headers["x-request-id"])).toMatchObject({ route: "/tenants/groups/{id}", status: 200 });
    const listed = await server.operator.get("/operator/tenants");
    expect(await lineOf(listed.headers["x-request-id"])).toMatchObject({ actorId: "operator" });
  });

  test("has the error's code, and no search terms or bodies", async () => {
    const query = "filter[email]=ann@example.com&unknown=1";
    const refused = await tenant.client.get(`/tenants/users?${query}`);
    const line = await lineOf(refused.headers["x-request-id"]);
    expect(line).toMatchObject({ route: "/tenants/users", status: 400, code: "invalid_parameter" });
    const lost = await tenant.client.get("/tenants/ann@example.com");
    expect(await lineOf(lost.headers["x-request-id"])).toMatchObject({ route: "unknown", code: "no_such_operation" });
    const undecodable = await tenant.client.get("/tenants/%zz");
    expect(await lineOf(undecodable.headers["x-request-id"])).toMatchObject({ status: 400, route: "unknown" });
    expect(lines.join("")).not.toMatch(/ann@|%zz|unknown=1/);
  });

  test("has no server error for an unsupported method, even for QUERY, which requires a content type", async () => {
    for (const [path, status, code] of [
      ["/tenants/groups", 405, "method_not_allowed"],
      ["/nowhere", 404, "no_such_operation"],
    ] as const) {
      const method = "QUERY" as "GET"; // the types of the library omit this method
      const reply = await server.app.inject({ method, url: path });
      expect(reply.statusCode).toBe(status);
      expect(await lineOf(String(reply.headers["x-request-id"]))).toMatchObject({ level: 30, code });
    }
  });

  test("names the caller that lacks a permission, and no caller without a valid key", async () => {
    const key = await tenant.keyWith("protocols:read");
    const refused = await server.client(key).get("/tenants/users");
    expect(await lineOf(refused.headers["x-request-id"])).toMatchObject({ status: 403, tenantId: tenant.id });
    const unknown = await server.client(generateToken(tokenPrefixes.apiKey)).get("/tenants/users");
    const line = await lineOf(unknown.headers["x-request-id"]);
    expect(line).toMatchObject({ status: 401, code: "invalid_api_key" });
    expect(line).not.toHaveProperty("actorId");
  });

  test("has the cause of an internal error under the same id, and the response does not", async () => {
    const fail = () => {
      throw new Error("a cause that nobody outside may see");
    };
    const broken = createApp({
      log: createLog("info", { write: (line) => lines.push(line) }),
      routes,
      runner: { publicUrl: () => "http://localhost" } as CommandRunner, // the rest is never reached
      clock: systemClock,
      authenticator: { tenantKey: fail, operatorKey: fail, session: fail, accessToken: fail, requireValid: fail },
      sessions: { begin: fail, describe: fail, end: fail },
      people: {} as PeopleSignIn, // never reached
      providers: {} as ProviderSignIn, // never reached
      authorizations: {} as AuthorizationServer, // never reached
      trustedProxies: [],
      strictTransportDays: 0,
      rateLimits: { requests: undefined, failures: undefined },
      ready: async () => undefined,
    });
    const reply = await broken.inject({ url: "/tenants/users", headers: { apikey: "x".repeat(40) } });
    expect(reply.statusCode).toBe(500);
    expect(reply.body).not.toContain("a cause");
    const [cause, line] = linesOf(String(reply.headers["x-request-id"]));
    expect(cause).toMatchObject({
      level: 50,
      msg: "internal_error",
      err: { message: expect.stringContaining("a cause") },
    });
    expect(line).toMatchObject({ level: 30, msg: "request", status: 500, code: "internal_error" });
    await broken.close();
  });

  test("has no lines for health checks", async () => {
    await server.client(undefined).get("/healthz");
    await server.client(undefined).get("/readyz");
    const { headers } = await server.client(undefined).get("/docs");
    await lineOf(headers["x-request-id"]);
    expect(lines.filter((line) => line.includes("healthz") || line.includes("readyz"))).toEqual([]);
  });

  test("shows that a client disconnected before the response", async () => {
    const { port } = server.app.server.address() as AddressInfo; // it listens on TCP
    const requestId = randomUUID();
    const socket = connect(port, "127.0.0.1");
    const head = ["POST /tenants/groups HTTP/1.1", "Host: test", `apikey: ${tenant.key}`, `X-Request-Id: ${requestId}`];
    socket.write(`${[...head, "Content-Type: application/json", "Content-Length: 100"].join("\r\n")}\r\n\r\n{`);
    await until("the request has begun", async () => {
      return (await metric("gatehouse_http_requests_in_flight")) === 1;
    });
    socket.destroy();
    await once(socket, "close");
    expect(await lineOf(requestId)).toMatchObject({ aborted: true, route: "/tenants/groups" });
    expect(await metric("gatehouse_http_requests_in_flight")).toBe(0);
  });
});

describe("a request id", () => {
  test("is passed from the caller to the response, the log and the audit entry", async () => {
    const requestId = `ci-run:42.${randomUUID()}`;
    const { headers } = await tenant.client.post("/tenants/groups", { name: "Traced" }, { "x-request-id": requestId });
    expect(headers["x-request-id"]).toBe(requestId);
    expect(await lineOf(requestId)).toMatchObject({ status: 201 });
    const events = await tenant.client.get("/tenants/events?sort=-createdAt&limit=1");
    expect(events.body.data[0]).toMatchObject({ operation: "createGroup", requestId });
  });

  test("is in errors too", async () => {
    const requestId = randomUUID();
    const { body, headers } = await tenant.client.get("/tenants/nothing", { "x-request-id": requestId });
    expect([body.requestId, headers["x-request-id"]]).toEqual([requestId, requestId]);
  });

  test.each(["a b", 'a"b', "<script>", "-a", "a/b+c==", "x".repeat(256)])("that is %j is used", async (given) => {
    const { headers, body } = await tenant.client.get("/tenants/nothing", { "x-request-id": given });
    expect([body.requestId, headers["x-request-id"]]).toEqual([given, given]);
  });

  test.each(["x".repeat(257), "\u00e9"])(
    "that is %j is returned, and replaced in the log and in errors",
    async (given) => {
      const { headers, body } = await tenant.client.get("/tenants/nothing", { "x-request-id": given });
      expect(headers["x-request-id"]).toBe(given);
      expect(body.requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      expect(await lineOf(body.requestId)).toMatchObject({ status: 404 });
    },
  );

  test("that is empty is replaced by a new id", async () => {
    const { headers } = await tenant.client.get("/tenants/protocols", { "x-request-id": "" });
    expect(headers["x-request-id"]).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
  });
});

/** The value of the line that starts with a name, or undefined. */
async function metric(name: string): Promise<number | undefined> {
  const text = (await server.metrics?.text()) ?? "";
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

describe("metrics", () => {
  test("count requests by method, route template and status, with one name for unknown paths", async () => {
    const requests = (route: string, status: number) =>
      metric(`gatehouse_http_request_duration_seconds_count{method="GET",route="${route}",status="${status}"}`);
    const known = (await requests("/tenants/protocols/{id}", 404)) ?? 0;
    const unknown = (await requests("unknown", 404)) ?? 0;
    for (let count = 0; count < 3; count += 1) {
      await tenant.client.get(`/tenants/protocols/${randomUUID()}`);
      await tenant.client.get(`/${randomUUID()}`);
    }
    expect(await requests("/tenants/protocols/{id}", 404)).toBe(known + 3);
    expect(await requests("unknown", 404)).toBe(unknown + 3);
    expect(await server.metrics?.text()).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  test("cover caches, the pool, the outbox and the audit record", async () => {
    const lookUps = (cache: string, result: string) =>
      metric(`gatehouse_cache_lookups_total{cache="${cache}",result="${result}"}`);
    const made = await tenant.client.post("/tenants/groups", { name: "Kept" });
    const hits = (await lookUps("answers", "hit")) ?? 0;
    const misses = (await lookUps("answers", "miss")) ?? 0;
    const keyHits = (await lookUps("keys", "hit")) ?? 0;
    for (let count = 0; count < 3; count += 1) await tenant.client.get(`/tenants/groups/${made.body.id}`);
    expect(await lookUps("answers", "hit")).toBe(hits + 2);
    expect(await lookUps("answers", "miss")).toBe(misses + 1);
    expect(await lookUps("keys", "hit")).toBeGreaterThan(keyHits);
    expect(await metric('gatehouse_cache_entries{cache="answers"}')).toBeGreaterThan(0);

    const entries = (await metric("gatehouse_audit_entries_total")) ?? 0;
    await tenant.client.must.post("/tenants/groups", { name: "Counted" });
    expect(await metric("gatehouse_audit_entries_total")).toBe(entries + 1);

    expect(await metric('gatehouse_database_connections{state="idle"}')).toBeGreaterThan(0);
    expect(await metric("gatehouse_database_requests_waiting")).toBe(0);
    expect(await metric("gatehouse_outbox_lag_seconds")).toBeGreaterThan(0);
    expect(await metric("gatehouse_event_streams")).toBe(0);
    const leaving = new AbortController();
    const address = server.app.listeningOrigin;
    await fetch(`${address}/tenants/events/stream`, { headers: { apikey: tenant.key }, signal: leaving.signal });
    expect(await metric("gatehouse_event_streams")).toBe(1);
    leaving.abort();
    await until("the stream has ended", async () => (await metric("gatehouse_event_streams")) === 0);
    expect(await metric("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
  });

  test("count rejected keys and exceeded limits", async () => {
    const limited = () => metric('gatehouse_rate_limited_requests_total{limit="address"}');
    const rejected = () => metric('gatehouse_rejected_authentications_total{code="invalid_api_key"}');
    const before = [(await limited()) ?? 0, (await rejected()) ?? 0];
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      statuses.push((await server.client("x".repeat(40)).get("/tenants/users")).status);
    }
    const refused = statuses.filter((status) => status === 429).length;
    expect(refused).toBeGreaterThan(0);
    expect(await limited()).toBe((before[0] ?? 0) + refused);
    expect(await rejected()).toBe((before[1] ?? 0) + 4 - refused);
  });
});
