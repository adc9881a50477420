import { describe, expect, test } from "vitest";
import { NoResponseError, UnexpectedResponseError } from "./errors.ts";
import { isRepeatable, retryAfterSeconds, retryDelayMs } from "./retries.ts";
import { empty, FakeServer, json, problem, unreachable } from "./testing/fake-server.ts";

const path = { id: "1" };
const busy = problem(429, "rate_limited", { "retry-after": "7" });
const away = problem(503, "database_unavailable", { "retry-after": "1" });

describe("a request is retried", () => {
  test("after the Retry-After of 429 and 503, with some jitter", async () => {
    const server = new FakeServer([busy, away, json(200, { id: "1" })]);
    expect(await server.gatehouse.get("/tenants/users/{id}", { path })).toEqual({ id: "1" });
    expect(server.waits).toEqual([7_000 + 100, 1_000 + 200]);
  });

  test("after a lost connection and after a proxy's error, with exponential backoff", async () => {
    const proxy = () => new Response("<html>", { status: 502, headers: { "content-type": "text/html" } });
    const server = new FakeServer([unreachable("ECONNRESET"), proxy, unreachable("ECONNREFUSED"), empty(204)]);
    expect(await server.gatehouse.delete("/tenants/users/{id}", { path })).toBeUndefined();
    expect(server.waits).toEqual([100, 200, 400]);
  });

  test("with the same bytes and the same idempotency key", async () => {
    const server = new FakeServer([unreachable("ECONNRESET"), away, json(201, { id: "1" })]);
    await server.gatehouse.post("/tenants/groups", { body: { name: "Engineering" } });
    const [first] = server.requests;
    expect(first?.headers.get("idempotency-key")).toMatch(/^[0-9a-f]{32}$/);
    for (const { body, headers } of server.requests) {
      expect(body).toBe('{"name":"Engineering"}');
      expect(headers.get("idempotency-key")).toBe(first?.headers.get("idempotency-key"));
    }
    expect(server.requests).toHaveLength(3);
  });

  test("at most as often as allowed, and then throws the last error", async () => {
    const server = new FakeServer([away, away, away, away]);
    await expect(server.gatehouse.get("/tenants/gateways")).rejects.toMatchObject({ code: "database_unavailable" });
    expect(server.requests).toHaveLength(4);
    const once = new FakeServer([away], { retries: 0 });
    await expect(once.gatehouse.get("/tenants/gateways")).rejects.toMatchObject({ code: "database_unavailable" });
  });

  test("not if repeating it could have another effect", async () => {
    const server = new FakeServer([away]);
    const change = server.gatehouse.patch("/tenants/users/{id}", { path, body: { maxDevices: 3 } });
    await expect(change).rejects.toMatchObject({ status: 503 });
    expect(server.requests).toHaveLength(1);
  });

  test.each([400, 401, 403, 404, 409, 412, 422, 500])("not after %i", async (status) => {
    const server = new FakeServer([problem(status, "invalid_body", { "retry-after": "1" })]);
    await expect(server.gatehouse.get("/tenants/gateways")).rejects.toMatchObject({ status });
    expect(server.requests).toHaveLength(1);
  });

  test("not if Retry-After exceeds the limit", async () => {
    const server = new FakeServer([problem(429, "rate_limited", { "retry-after": "61" })]);
    await expect(server.gatehouse.get("/tenants/gateways")).rejects.toMatchObject({ retryAfterSeconds: 61 });
    expect(server.waits).toEqual([]);
  });

  test("not after the caller has aborted", async () => {
    const stop = new AbortController();
    const stopping = () => {
      stop.abort(new Error("given up"));
      return away();
    };
    const server = new FakeServer([stopping]);
    await expect(server.gatehouse.get("/tenants/gateways", { signal: stop.signal })).rejects.toThrow("given up");
    expect(server.requests).toHaveLength(1);
  });
});

test("reads, replacements, deletions and creations with a key are repeatable", () => {
  const repeatable = (key?: string) =>
    ["GET", "PUT", "DELETE", "POST", "PATCH"].filter((method) => isRepeatable(method, key));
  expect(repeatable()).toEqual(["GET", "PUT", "DELETE"]);
  expect(repeatable("k")).toEqual(["GET", "PUT", "DELETE", "POST"]);
});

test("the backoff grows up to a maximum and is randomized", () => {
  const delays = (random: number) =>
    [0, 1, 2, 5, 30].map((attempt) => retryDelayMs(new NoResponseError("", "", false), attempt, 0, random));
  expect(delays(1)).toEqual([200, 400, 800, 5_000, 5_000]);
  expect(delays(0)).toEqual([0, 0, 0, 0, 0]);
});

test("a permanent error is not retried", () => {
  expect(retryDelayMs(new NoResponseError("", "", true), 0, 60_000, 1)).toBeUndefined();
  expect(retryDelayMs(new Error("something else"), 0, 60_000, 1)).toBeUndefined();
  expect(retryDelayMs(new UnexpectedResponseError("", 200, "not JSON"), 0, 60_000, 1)).toBeUndefined();
});

test.each([
  ["120", 120],
  ["0", 0],
  ["Thu, 31 Jan 2030 12:00:30 GMT", 30],
  ["Thu, 31 Jan 2030 11:00:00 GMT", 0],
  ["soon", undefined],
  ["99999999999999999999", undefined],
  [null, undefined],
])("Retry-After %j means %s seconds", (header, seconds) => {
  expect(retryAfterSeconds(header, Date.parse("2030-01-31T12:00:00Z"))).toBe(seconds);
});
