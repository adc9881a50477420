import { type ClientRequest, request as openRequest } from "node:http";
import type { AddressInfo } from "node:net";
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
import { type MountOptions, mount } from "./mount.ts";
import { observeRequests } from "./observation.ts";
import { replyWithProblem } from "./problem.ts";
import { RateLimits } from "./rate-limits.ts";
import { route } from "./route.ts";

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
let calls: Call<typeof workOnTenant>[];
/** Ends the calls, in the order in which they started. */
let ends: (() => void)[];

beforeEach(() => {
  pace = new TenantPace({ nowMs: () => 0, activeMs: () => 0, after: (_ms, callback) => callback() });
  void pace.turn("neighbour");
  longTurn = vi.spyOn(pace, "longTurn");
  permissions = new Set<Permission>(["users:read", "users:write"]);
  isRevoked = false;
  calls = [];
  ends = [];
  const clock = new TestClock();
  const runner = { pace } as unknown as MountOptions["runner"]; // the operation uses nothing else
  const tenantKey = () => {
    if (isRevoked) throw new AppError("invalid_api_key");
    return { actor: { type: "api_key", id: tenantId }, permissions, limits: undefined, tenantId };
  };
  app = Fastify({ forceCloseConnections: true });
  readBodies(app, runner.evaluator);
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

test("bodies that are being received take room in the queue until their clients disconnect", async () => {
  await send();
  const reserve = vi.spyOn(pace, "reserve");
  const arriving = [await open(33_554_432), await open(33_554_432)];
  for (const request of arriving) request.on("error", () => {});
  await until("both requests have arrived", () => reserve.mock.calls.length === 2);
  const problem = await problemOf(await open(2));
  expect(problem).toMatchObject({ status: 429, code: "rate_limited" });
  expect(problem.detail).toContain("64 MiB");
  arriving[0]?.destroy();
  const hasRoom = () => {
    try {
      pace.reserve(tenantId, 33_554_432)();
      return true;
    } catch {
      return false;
    }
  };
  await until("there is room again", hasRoom);
});

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
