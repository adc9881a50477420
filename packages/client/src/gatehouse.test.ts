import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { GatehouseError, NoResponseError, UnexpectedResponseError } from "./errors.ts";
import { createGatehouse } from "./gatehouse.ts";
import { apiKey, empty, FakeServer, json, problem, unreachable, url } from "./testing/fake-server.ts";

const id = "01890a5d-ac96-774b-bcce-b302099a8057";

describe("a call", () => {
  test("sends the key to its path and returns the body", async () => {
    const server = new FakeServer([json(200, { id })], { url: `${url}/base/` });
    expect(await server.gatehouse.get("/tenants/users/{id}", { path: { id } })).toEqual({ id });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: "GET", target: `/base/tenants/users/${id}`, body: "" });
    expect(request?.headers.get("apikey")).toBe(apiKey);
    expect(request?.headers.get("idempotency-key")).toBeNull();
  });

  test("accepts lists, and filters with and without an operator", async () => {
    const server = new FakeServer([json(200, { data: [], hasNext: false })]);
    await server.gatehouse.get("/tenants/users", {
      query: { "filter[status]": "active", "filter[email][ilike]": "%@example.com", sort: ["-email", "id"], limit: 5 },
    });
    const [request] = server.requests;
    expect(request?.target).toBe(
      "/tenants/users?filter[status]=active&filter[email][ilike]=%@example.com&sort=-email&sort=id&limit=5",
    );
  });

  test("can make a write conditional on the version that was read", async () => {
    const server = new FakeServer([json(200, { id }, { etag: '"3"' }), problem(412, "precondition_failed")]);
    const { record, etag } = await server.gatehouse.read("/tenants/resources/{id}", { path: { id } });
    expect({ record, etag }).toEqual({ record: { id }, etag: '"3"' });
    const options = { path: { id: record.id }, body: { name: "Build farm" }, ifMatch: etag };
    const change = server.gatehouse.patch("/tenants/resources/{id}", options);
    await expect(change).rejects.toMatchObject({ code: "precondition_failed" });
    expect(server.requests[1]?.headers.get("if-match")).toBe('"3"');
  });

  test("that reads a version fails if the response has no ETag", async () => {
    const server = new FakeServer([json(200, { id })]);
    await expect(server.gatehouse.read("/tenants/resources/{id}", { path: { id } })).rejects.toThrow("without an ETag");
  });

  test("reads a part of a list without pages, and the list's length", async () => {
    const server = new FakeServer([json(200, [{ id }], { "x-total-count": "240" }), json(200, [{ id }])]);
    const query = { limit: 1, offset: 200 };
    expect(await server.gatehouse.part("/tenants/addresses", { query })).toEqual({ items: [{ id }], total: 240 });
    expect(server.requests[0]?.target).toBe("/tenants/addresses?limit=1&offset=200");
    expect(await server.gatehouse.part("/tenants/addresses")).toMatchObject({ total: 1 });
  });

  test("uses the given idempotency key, and otherwise generates a new one for each call", async () => {
    const server = new FakeServer([json(201, {}), json(201, {}), json(201, {})]);
    const body = { name: "Engineering" };
    await server.gatehouse.post("/tenants/groups", { body, idempotencyKey: "mine" });
    await server.gatehouse.post("/tenants/groups", { body });
    await server.gatehouse.post("/tenants/groups", { body });
    const [mine, first, second] = server.requests.map(({ headers }) => headers.get("idempotency-key"));
    expect(mine).toBe("mine");
    expect(first).not.toBe(second);
  });

  test.each(["", ".", ".."])("with %j as an id sends nothing", async (wrong) => {
    const server = new FakeServer([]);
    const call = server.gatehouse.delete("/tenants/users/{id}", { path: { id: wrong } });
    await expect(call).rejects.toThrow(`id must be an id, not ${JSON.stringify(wrong)}.`);
    expect(server.requests).toEqual([]);
  });

  test("with an id that contains a slash stays at its path", async () => {
    const server = new FakeServer([problem(404, "not_found")]);
    const call = server.gatehouse.put("/tenants/users/{id}", { path: { id: "../roles?x" }, body: {} });
    await expect(call).rejects.toMatchObject({ code: "not_found" });
    expect(server.requests[0]?.target).toBe("/tenants/users/../roles?x");
  });
});

describe("a failed call", () => {
  test("throws the API's error with its code, fields and request id", async () => {
    const errors = [{ pointer: "/name", message: "is taken" }];
    const server = new FakeServer([problem(409, "name_taken", {}, { errors })]);
    const error = await server.gatehouse
      .post("/tenants/groups", { body: { name: "Engineering" } })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(GatehouseError);
    expect(error).toMatchObject({ code: "name_taken", status: 409, errors, requestId: "request-1" });
    expect(String(error)).toBe("GatehouseError: A title (409). What was wrong.");
  });

  test("reports a missing response, and its cause", async () => {
    const server = new FakeServer([unreachable("connect ECONNREFUSED 192.0.2.1:443")], { retries: 0 });
    const error = await server.gatehouse.get("/tenants/gateways").catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(NoResponseError);
    expect(error).toMatchObject({ url, timedOut: false, reason: "connect ECONNREFUSED 192.0.2.1:443" });
  });

  test("reports a response that does not end in time", async () => {
    const stalling = async () =>
      new Response(new ReadableStream(), { headers: { "content-type": "application/json" } });
    const server = new FakeServer([], { fetch: stalling });
    const error = await server.gatehouse.get("/tenants/gateways", { timeoutMs: 1 }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(NoResponseError);
    expect(error).toMatchObject({ timedOut: true, reason: "no complete response within 0.001 seconds" });
  });

  test.each([
    ["not JSON", () => new Response("[{", { headers: { "content-type": "application/json" } })],
    ["not JSON", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["not JSON", () => new Response("<html>", { status: 404, headers: { "content-type": "text/html; x=/json" } })],
    ["not a Gatehouse response", json(404, { message: "no Route matched" })],
    ["not a Gatehouse response", json(500, null)],
    ["a redirect", () => new Response(null, { status: 302 })],
  ])("reports a response that is not Gatehouse's: %s", async (found, answer) => {
    const server = new FakeServer([answer]);
    const error = await server.gatehouse.get("/tenants/gateways").catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error).toMatchObject({ url, found });
  });

  test("reports a redirect without following it, and without parts that can be secret", async () => {
    const location = "https://user:secret@other.example.com/base/tenants/gateways?secret";
    const server = new FakeServer([() => new Response(null, { status: 308, headers: { location } })]);
    const error = await server.gatehouse.get("/tenants/gateways").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 308, redirectsTo: "https://other.example.com/base" });
    expect(server.requests).toHaveLength(1);
  });

  test("never shows the key, even if the server repeats it", async () => {
    const server = new FakeServer(
      [problem(400, "invalid_body", {}, { detail: `Not ${apiKey}.` }), unreachable(`no such header: ${apiKey}`)],
      { retries: 0 },
    );
    for (let call = 0; call < 2; call += 1) {
      const error = await server.gatehouse.get("/tenants/gateways").catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(Error);
      expect(inspect(error, { depth: 9, showHidden: true })).toContain("<redacted>");
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(apiKey);
    }
    expect(inspect(server.gatehouse, { depth: 9, showHidden: true })).not.toContain(apiKey);
  });

  test("leaves a message readable if the key is mistyped as one letter", async () => {
    const detail = "The key is unknown, has expired, or was revoked.";
    const server = new FakeServer([problem(401, "invalid_api_key", {}, { detail })], { apiKey: "x" });
    await expect(server.gatehouse.get("/tenants/gateways")).rejects.toMatchObject({ problem: { detail } });
  });

  test.each([
    [{ url: "https://user:secret@gatehouse.example.com", apiKey }, "url must be"],
    [{ url: "https://gatehouse.example.com/?secret", apiKey }, "url must be"],
    [{ url: "gatehouse.example.com/secret", apiKey }, "url must be"],
    [{ url, apiKey: "secret\n" }, "apiKey must be"],
    [{ url, apiKey: "" }, "apiKey must be"],
  ])("is rejected before anything is sent, without repeating the secret: %j", (options, message) => {
    expect(() => createGatehouse(options)).toThrow(message);
    expect(() => createGatehouse(options)).not.toThrow("secret");
  });
});

describe("a list", () => {
  const parts = (texts: readonly string[], end: "error" | "close") => () => {
    const remaining = [...texts];
    const body = new ReadableStream<Uint8Array>({
      pull: (stream) => {
        const text = remaining.shift();
        if (text !== undefined) stream.enqueue(new TextEncoder().encode(text));
        else if (end === "error") stream.error(new TypeError("terminated"));
        else stream.close();
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  };

  const people = (from: number, count: number) => Array.from({ length: count }, (_, i) => ({ id: `id-${from + i}` }));
  const page = (from: number, count: number, hasNext: boolean) => json(200, { data: people(from, count), hasNext });

  test("is read in pages of 100 that follow each other by id", async () => {
    const server = new FakeServer([page(0, 100, true), page(100, 100, true), page(200, 1, false)]);
    const ids: string[] = [];
    const list = server.gatehouse.list("/tenants/users", { query: { "filter[status]": "active" } });
    for await (const { id } of list) ids.push(id);
    expect(ids).toEqual(people(0, 201).map(({ id }) => id));
    expect(server.requests.map(({ target }) => target)).toEqual([
      "/tenants/users?filter[status]=active&sort=id&limit=100",
      "/tenants/users?filter[status]=active&sort=id&filter[id][gt]=id-99&limit=100",
      "/tenants/users?filter[status]=active&sort=id&filter[id][gt]=id-199&limit=100",
    ]);
  });

  test("with its own order is read by offset", async () => {
    const server = new FakeServer([page(0, 100, true), page(100, 3, false)]);
    const list = server.gatehouse.list("/tenants/users", { query: { sort: ["email"] } });
    const items: unknown[] = [];
    for await (const item of list) items.push(item);
    expect(items).toHaveLength(103);
    expect(server.requests.map(({ target }) => target)).toEqual([
      "/tenants/users?sort=email&limit=100",
      "/tenants/users?sort=email&offset=100&limit=100",
    ]);
  });

  test("requests no page that is not needed", async () => {
    const server = new FakeServer([page(0, 100, true)]);
    for await (const { id } of server.gatehouse.list("/tenants/users")) if (id === "id-99") break;
    expect(server.requests).toHaveLength(1);
  });

  test("that is empty has no items", async () => {
    const server = new FakeServer([page(0, 0, false)]);
    for await (const _ of server.gatehouse.list("/tenants/users")) expect.unreachable();
  });

  test("without pages is read at once, without parameters", async () => {
    const server = new FakeServer([json(200, people(0, 250))]);
    const ids: string[] = [];
    for await (const { id } of server.gatehouse.list("/tenants/gateways")) ids.push(id);
    expect(ids).toHaveLength(250);
    expect(server.requests.map(({ target }) => target)).toEqual(["/tenants/gateways"]);
  });

  test("fails as incomplete if the connection breaks or the response ends early", async () => {
    for (const close of ["error", "close"] as const) {
      const server = new FakeServer([parts(['[{"id":"1"},', '{"id":"2"},{"id'], close)]);
      const ids: string[] = [];
      const reading = async () => {
        for await (const { id } of server.gatehouse.list("/tenants/gateways")) ids.push(id);
      };
      await expect(reading()).rejects.toThrow(NoResponseError);
      expect(ids).toEqual(["1", "2"]);
      expect(server.requests).toHaveLength(1);
    }
  });

  test("without pages cancels its connection when it is abandoned", async () => {
    const cancelled = vi.fn();
    const endless = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(new TextEncoder().encode('[{"id":"1"},')),
      cancel: cancelled,
    });
    const server = new FakeServer([() => new Response(endless, { headers: { "content-type": "application/json" } })]);
    for await (const { id } of server.gatehouse.list("/tenants/gateways")) if (id === "1") break;
    expect(cancelled).toHaveBeenCalledOnce();
  });

  test("without pages is retried until the response starts", async () => {
    const server = new FakeServer([unreachable("ECONNRESET"), problem(503, "database_unavailable"), json(200, [])]);
    for await (const _ of server.gatehouse.list("/tenants/gateways")) expect.unreachable();
    expect(server.requests).toHaveLength(3);
    const refusing = new FakeServer([problem(403, "permission_denied")]);
    await expect(refusing.gatehouse.list("/tenants/gateways").next()).rejects.toMatchObject({
      code: "permission_denied",
    });
  });

  test("continues after a page that had to be requested twice", async () => {
    const server = new FakeServer([page(0, 100, true), unreachable("ECONNRESET"), page(100, 1, false)]);
    const ids: string[] = [];
    for await (const { id } of server.gatehouse.list("/tenants/users")) ids.push(id);
    expect(ids).toHaveLength(101);
  });

  test.each([
    ["/tenants/users", []],
    ["/tenants/users", { hasNext: false }],
    ["/tenants/users", { data: [], hasNext: true }],
    ["/tenants/users", { data: [{}], hasNext: true }],
    ["/tenants/gateways", { data: [] }],
    ["/tenants/gateways", null],
    ["/tenants/gateways", "["],
  ] as const)("of %s rejects %j", async (path, body) => {
    const server = new FakeServer([json(200, body)]);
    await expect(server.gatehouse.list(path).next()).rejects.toThrow(UnexpectedResponseError);
  });
});

test("an operation with an empty response returns undefined", async () => {
  const server = new FakeServer([empty(204), () => new Response("", { headers: { "content-length": "0" } })]);
  const path = { id };
  expect(await server.gatehouse.delete("/tenants/users/{id}", { path })).toBeUndefined();
  expect(await server.gatehouse.delete("/tenants/users/{id}", { path })).toBeUndefined();
});
