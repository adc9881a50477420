import { type ClientRequest, createServer, request as openRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { operation } from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import Fastify, { type FastifyInstance } from "fastify";
import Type from "typebox";
import { afterEach, beforeEach, expect, type MockInstance, test, vi } from "vitest";
import { AppError } from "../platform/app-error.ts";
import type { Call } from "../platform/call.ts";
import { TenantPace } from "../platform/concurrency/tenant-pace.ts";
import { TestClock } from "../testing/test-clock.ts";
import { testLog } from "../testing/test-log.ts";
import { until } from "../testing/until.ts";
import { readBodies } from "./bodies.ts";
import { BodyMemory } from "./body-memory.ts";
import { type MountOptions, mount } from "./mount.ts";
import { observeRequests } from "./observation.ts";
import { replyWithProblem } from "./problem.ts";
import { RateLimits } from "./rate-limits.ts";
import { RequestTurns } from "./request-turns.ts";
import { route } from "./route.ts";
import { UnsentBytes } from "./unsent-bytes.ts";
import { limitUnsentBytes } from "./unsent-of-callers.ts";

const workOnTenant = operation({
  id: "workOnTenant",
  method: "POST",
  path: "/work",
  tag: "Tests",
  summary: "Work on the whole tenant",
  access: "users:read",
  wholeTenant: true,
  body: Type.Object({}),
  bodyOptional: true,
  bodyLimitBytes: 33_554_432,
  success: { status: 204, kind: "empty" },
});

const tenantId = "7b6a3c52-9d0e-4f7c-8a4b-0d3c7d2f1e10";

let app: FastifyInstance;
let pace: TenantPace;
let longTurn: MockInstance;
let permissions: ReadonlySet<Permission>;
let isRevoked: boolean;
let bodies: BodyMemory;
/** Whether authentication waits until the client of the request has disconnected. */
let authenticatesLate: boolean;
let calls: Call<typeof workOnTenant>[];
/** Ends the calls, in the order in which they started. */
let ends: (() => void)[];

beforeEach(() => {
  pace = new TenantPace({ nowMs: () => 0, activeMs: () => 0, after: (_ms, callback) => callback() });
  void pace.turn("neighbour");
  longTurn = vi.spyOn(pace, "longTurn");
  permissions = new Set<Permission>(["users:read", "users:write"]);
  isRevoked = false;
  bodies = new BodyMemory();
  authenticatesLate = false;
  calls = [];
  ends = [];
  const clock = new TestClock();
  const runner = { pace } as unknown as MountOptions["runner"]; // the operation uses nothing else
  const tenantKey = () => {
    if (isRevoked) throw new AppError("invalid_api_key");
    const caller = { actor: { type: "api_key", id: tenantId }, permissions, limits: undefined, tenantId };
    return authenticatesLate ? disconnected.then(() => caller) : caller;
  };
  const turns = new RequestTurns();
  app = Fastify({ forceCloseConnections: true, serverFactory: (handler) => createServer(turns.inTurn(handler)) });
  const disconnected = new Promise<void>((resolve) => {
    app.addHook("onRequest", (_request, reply, done) => {
      reply.raw.once("close", resolve);
      done();
    });
  });
  limitUnsentBytes(app, new UnsentBytes(clock));
  readBodies(app, runner);
  app.decorateRequest("caller", undefined);
  observeRequests(app, { log: testLog });
  app.setErrorHandler(replyWithProblem);
  const handler = (call: Call<typeof workOnTenant>) => {
    calls.push(call);
    return new Promise<{ readonly kind: "empty" }>((resolve) => ends.push(() => resolve({ kind: "empty" })));
  };
  mount(app, route(workOnTenant, handler), {
    runner,
    clock,
    bodies,
    plannedRequests: { find: () => undefined },
    limits: new RateLimits({ requests: undefined, failures: undefined, clock }),
    authenticator: { tenantKey } as unknown as MountOptions["authenticator"], // requests have keys
  });
});

afterEach(() => app.close());

/** Sends a request, and waits until it runs or waits for its turn. */
async function send(): Promise<{ readonly reply: Promise<{ readonly statusCode: number }> }> {
  const sent = longTurn.mock.calls.length;
  const reply = app.inject({ method: "POST", url: "/work", headers: { apikey: "key" } });
  void reply.then(() => undefined);
  await until("the request has arrived", () => longTurn.mock.calls.length > sent);
  return { reply };
}

/** Opens a request over a connection, without its body. */
async function open(contentLength: number): Promise<ClientRequest> {
  if (!app.server.listening) await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo; // listens on TCP
  const headers = { apikey: "key", "content-type": "application/json", "content-length": contentLength };
  const request = openRequest({ host: "127.0.0.1", port, method: "POST", path: "/work", headers });
  request.flushHeaders();
  return request;
}

function problemOf(request: ClientRequest): Promise<{ readonly status: number; readonly detail: string }> {
  return new Promise((resolve, reject) => {
    request.once("error", reject);
    request.once("response", async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      request.destroy();
      resolve(JSON.parse(text));
    });
  });
}

test("a long request leaves the queue when its client disconnects", async () => {
  const first = await send();
  const gone = await open(2);
  gone.on("error", () => {});
  gone.end("{}");
  await until("the request waits", () => longTurn.mock.calls.length === 2);
  const last = await send();
  gone.destroy();
  await expect(longTurn.mock.results[1]?.value).rejects.toMatchObject({ code: "request_timeout" });
  ends[0]?.();
  await first.reply;
  ends[1]?.();
  expect(await last.reply).toMatchObject({ statusCode: 204 });
  expect(calls).toHaveLength(2);
});

test("a long request is refused before its body is sent if too many wait", async () => {
  for (let count = 0; count < 21; count += 1) await send();
  const problem = await problemOf(await open(2));
  expect(problem).toMatchObject({ status: 429, code: "rate_limited" });
  expect(problem.detail).toContain("20 requests of this tenant");
});

test("bodies of a tenant are bounded in total until their clients disconnect", async () => {
  const hold = vi.spyOn(bodies, "hold");
  const arriving = await Promise.all(Array.from({ length: 4 }, () => open(33_554_432)));
  for (const request of arriving) request.on("error", () => {});
  await until("all requests have arrived", () => hold.mock.calls.length === 4);
  const problem = await problemOf(await open(2));
  expect(problem).toMatchObject({ status: 429, code: "rate_limited" });
  expect(problem.detail).toContain("128 MiB");
  bodies.hold("neighbour", 33_554_432);
  arriving[0]?.destroy();
  await until("there is room again", () => hasRoom(33_554_432));
});

test("a client that disconnects during its authentication leaves nothing behind", async () => {
  await send();
  authenticatesLate = true;
  const hold = vi.spyOn(bodies, "hold");
  const reserve = vi.spyOn(pace, "reserve");
  const gone = await open(33_554_432);
  gone.on("error", () => {});
  gone.once("socket", () => {});
  await until("the connection is open", () => gone.socket?.connecting === false);
  gone.destroy();
  await until("the request is authenticated", () => hold.mock.calls.length > 0);
  expect(hasRoom(4 * 33_554_432)).toBe(true);
  await until("the place is reserved", () => reserve.mock.calls.length > 0);
  for (let count = 0; count < 20; count += 1) pace.reserve(tenantId);
});

test.each([
  ["is being received", "33554432"],
  ["was received", "2"],
])("a pipelined request whose client disconnects leaves nothing behind if its body %s", async (_state, length) => {
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo; // listens on TCP
  const hold = vi.spyOn(bodies, "hold");
  const connection = connect(port, "127.0.0.1").on("error", () => {});
  const head = "POST /work HTTP/1.1\r\nHost: test\r\napikey: key\r\nContent-Type: application/json\r\n";
  connection.write(`${head}Content-Length: 2\r\n\r\n{}${head}Content-Length: ${length}\r\n\r\n{}`);
  await until("the request before it has arrived", () => longTurn.mock.calls.length === 1);
  expect(hold).toHaveBeenCalledTimes(1);
  connection.destroy();
  await until("there is room again", () => hasRoom(4 * 33_554_432));
  expect(longTurn).toHaveBeenCalledTimes(1);
});

function hasRoom(bytes: number): boolean {
  try {
    bodies.hold(tenantId, bytes)();
    return true;
  } catch {
    return false;
  }
}

test("a body over the limit of its operation gets 413, even if long requests wait", async () => {
  await send();
  await send();
  expect(await problemOf(await open(67_108_865))).toMatchObject({ status: 413 });
});

test("a long request that waited uses the permissions that the caller has at its turn", async () => {
  const first = await send();
  const second = await send();
  permissions = new Set<Permission>(["users:read"]);
  ends[0]?.();
  await first.reply;
  ends[1]?.();
  expect(await second.reply).toMatchObject({ statusCode: 204 });
  expect(calls.map((call) => call.permissions.has("users:write"))).toEqual([true, false]);
});

test("a long request whose key was revoked while it waited is refused", async () => {
  const first = await send();
  const second = await send();
  isRevoked = true;
  ends[0]?.();
  expect(await first.reply).toMatchObject({ statusCode: 204 });
  expect(await second.reply).toMatchObject({ statusCode: 401 });
  expect(calls).toHaveLength(1);
});

test("a long request that lost its permission while it waited is refused", async () => {
  const first = await send();
  const second = await send();
  permissions = new Set();
  ends[0]?.();
  await first.reply;
  expect(await second.reply).toMatchObject({ statusCode: 403 });
  expect(calls).toHaveLength(1);
});

test("an invalid body waits for its tenant's turn before it is parsed, and is charged", async () => {
  let start = () => {};
  vi.spyOn(pace, "turn").mockImplementation(() => new Promise((resolve) => (start = resolve)));
  const charge = vi.spyOn(pace, "charge");
  const body = JSON.stringify(["x".repeat(5_000)]);
  const parse = vi.spyOn(JSON, "parse");
  const request = await open(body.length);
  const problem = problemOf(request);
  request.end(body);
  await until("the request waits", () => vi.mocked(pace.turn).mock.calls.length === 1);
  expect(parse).not.toHaveBeenCalled();
  start();
  expect(await problem).toMatchObject({ status: 400, code: "invalid_body" });
  // Parsing and validation are charged.
  expect(charge.mock.calls.map(([tenant]) => tenant)).toEqual([tenantId, tenantId]);
});

test("the body of a client that disconnects during the pause is not parsed", async () => {
  let start = () => {};
  vi.spyOn(pace, "turn").mockImplementation(() => new Promise((resolve) => (start = resolve)));
  const readBody = vi.spyOn(pace, "readBody");
  const hold = vi.spyOn(bodies, "hold");
  const body = JSON.stringify(["x".repeat(5_000)]);
  const gone = await open(body.length);
  gone.on("error", () => {});
  gone.end(body);
  await until("the request waits", () => vi.mocked(pace.turn).mock.calls.length === 1);
  expect(hold).toHaveBeenCalledOnce();
  gone.destroy();
  await until("the memory is free", () => hasRoom(4 * 33_554_432));
  start();
  const last = app.inject({ method: "POST", url: "/work", headers: { apikey: "key" } });
  await until("a later request waits", () => vi.mocked(pace.turn).mock.calls.length === 2);
  expect(readBody).not.toHaveBeenCalled();
  start();
  await until("it started", () => ends.length === 1);
  ends[0]?.();
  expect(await last).toMatchObject({ statusCode: 204 });
});

test("a small body does not wait before it is parsed", async () => {
  const turn = vi.spyOn(pace, "turn");
  const request = await open(18);
  const problem = problemOf(request);
  request.end('{"unknown": "text"}'.slice(0, 18));
  expect(await problem).toMatchObject({ status: 400, code: "invalid_json" });
  expect(turn).not.toHaveBeenCalled();
});
