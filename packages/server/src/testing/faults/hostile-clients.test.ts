/**
 * Clients that disconnect, are slow, send too much, or send invalid HTTP. The server answers if possible, and continues
 * to serve.
 */
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { startTestServer, type TestServer, type TestTenant } from "../test-server.ts";
import { until } from "../until.ts";
import { exchange, problemIn, RawConnection, request } from "./raw-connection.ts";

/** Only slow clients may miss the time limit, not a busy machine: they have a server of their own. */
const requestTimeoutMs = 10_000;
const bodyLimit = 1_048_576;
const warnLevel = 40;
let server: TestServer;
let tenant: TestTenant;
let port: number;
let administrator: pg.Client;
let logged: { readonly level: number; readonly requestId?: string }[] = [];

const log = pino({ level: "info" }, { write: (line: string) => logged.push(JSON.parse(line)) });

beforeAll(async () => {
  server = await startTestServer({ settings: { requestTimeoutMs, log } });
  tenant = await server.newTenant();
  await server.listen();
  port = (server.app.server.address() as AddressInfo).port; // of a server that listens on TCP
  administrator = new pg.Client(inject("database"));
  await administrator.connect();
  logged = [];
});
afterEach(async () => {
  expect(await exchange(port, request("GET /healthz"))).toContain("HTTP/1.1 200 OK");
  // Errors of clients must not be logged as warnings or errors of the server.
  expect(logged.filter(({ level }) => level >= warnLevel)).toEqual([]);
  logged = [];
});
afterAll(async () => {
  await administrator.end();
  await server.close();
});

const json = { "content-type": "application/json" };
const authorized = (headers: Readonly<Record<string, string>> = {}) => ({ apikey: tenant.key, ...headers });

function post(body: string, headers: Readonly<Record<string, string>> = {}): string {
  const length = { "content-length": String(Buffer.byteLength(body)) };
  return request("POST /tenants/protocols", authorized({ ...json, ...length, ...headers }), body);
}

const protocol = (name: string) => JSON.stringify({ name, networkProtocols: [{ protocol: "TCP", port: "8443" }] });

async function exists(name: string): Promise<boolean> {
  const { body } = await tenant.client.get("/tenants/protocols");
  return body.some((item: { name: string }) => item.name === name);
}

/** Expects a line of the log about the request that was answered. */
function expectLogged(answer: string, line: object): void {
  const requestId = /^x-request-id: (\S+)/im.exec(answer)?.[1];
  expect(logged).toContainEqual(expect.objectContaining({ requestId, ...line }));
}

describe("a client that disconnects", () => {
  test("in the middle of its headers or its body leaves no data or connection", async () => {
    const whole = post(protocol("Half"));
    const at = whole.indexOf("\r\n\r\n");
    for (const cut of [3, at - 5, at + 4, at + 20, whole.length - 1]) {
      const connection = await RawConnection.open(port);
      await connection.write(whole.slice(0, cut));
      connection.socket.destroy();
      await connection.whole();
    }
    expect(await exists("Half")).toBe(false);
  });

  test("in the middle of its command does not interrupt the command", async () => {
    await administrator.query("BEGIN");
    await administrator.query("SELECT FROM tenant_generations WHERE tenant_id = $1 FOR UPDATE", [tenant.id]);
    const connection = await RawConnection.open(port);
    await connection.write(post(protocol("Deserted")));
    await until("the command waits for its turn", async () => {
      const { rowCount } = await administrator.query(
        "SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))",
      );
      return (rowCount ?? 0) > 0;
    });
    connection.socket.destroy();
    await connection.whole();
    await administrator.query("COMMIT");
    await until("the command is done", () => exists("Deserted"));
    const { rows } = await administrator.query(
      "SELECT count(*)::int AS count FROM audit_events WHERE tenant_id = $1 AND target_name = 'Deserted'",
      [tenant.id],
    );
    expect(rows).toEqual([{ count: 1 }]);
  });

  test("in the middle of a long answer does not affect the server", async () => {
    const connection = await RawConnection.open(port);
    await connection.write(request("GET /openapi.json"));
    await until("the answer has begun", () => connection.received.length > 0);
    connection.socket.destroy();
    await connection.whole();
  });
});

describe("a slow client", () => {
  let hasty: TestServer;
  let hastyPort: number;

  beforeAll(async () => {
    const settings = { requestTimeoutMs: 300, stallMs: 300, log };
    hasty = await startTestServer({ operatorKey: server.operatorKey, settings });
    hastyPort = Number(new URL(await hasty.listen()).port);
    logged = [];
  });
  afterAll(() => hasty.close());

  test("with its body gets 408", async () => {
    const whole = post(protocol("Slow"));
    expect(problemIn(await exchange(hastyPort, whole.slice(0, -5)))).toEqual({ status: 408, code: "request_timeout" });
    expect(await exists("Slow")).toBe(false);
  });

  test("with its headers gets 408", async () => {
    const answer = await exchange(hastyPort, "GET /healthz HTTP/1.1\r\nhost: local");
    expect(problemIn(answer)).toMatchObject({ status: 408 });
    expectLogged(answer, { status: 408, code: "request_timeout" });
  });

  test("with its first byte is disconnected", async () => {
    const connection = await RawConnection.open(hastyPort);
    expect(await connection.whole()).toMatch(/^(HTTP\/1.1 408 |$)/);
  });

  test("that reads nothing is disconnected", async () => {
    const connection = await RawConnection.open(hastyPort);
    connection.socket.pause();
    const count = promisify(hasty.app.server.getConnections.bind(hasty.app.server));
    expect(await count()).toBe(1);
    // More content than the buffers of the system hold.
    const get = "GET /docs/swagger-ui.css HTTP/1.1\r\nhost: localhost\r\n\r\n";
    await connection.write(get.repeat(100));
    await until("the server closes the connection", async () => (await count()) === 0);
    connection.socket.destroy();
  });
});

describe("a client that sends too much", () => {
  test("in a header of 100 kB gets 431", async () => {
    const answer = await exchange(port, request("GET /healthz", { "x-long": "x".repeat(100_000) }));
    expect(problemIn(answer)).toEqual({ status: 431, code: "header_too_large" });
    expectLogged(answer, { status: 431, code: "header_too_large" });
  });

  test("in a path of 100 kB gets 431", async () => {
    expect(problemIn(await exchange(port, request(`GET /${"x".repeat(100_000)}`)))).toMatchObject({ status: 431 });
  });

  test("in a path of 10 kB gets 404", async () => {
    expect(problemIn(await exchange(port, request(`GET /${"x".repeat(10_000)}`)))).toMatchObject({ status: 404 });
    const long = request(`GET /tenants/resources/${"x".repeat(10_000)}`, authorized());
    expect(problemIn(await exchange(port, long))).toMatchObject({ status: 400, code: "invalid_parameter" });
  });

  test("and announces it gets 413 before it sends the body", async () => {
    const head = post("", { "content-length": String(bodyLimit + 1) });
    expect(problemIn(await exchange(port, head))).toEqual({ status: 413, code: "payload_too_large" });
  });

  test("in chunks gets 413 as soon as it exceeds the limit", async () => {
    const connection = await RawConnection.open(port);
    const { "content-type": type } = json;
    const headers = authorized({ "content-type": type, "transfer-encoding": "chunked" });
    await connection.write(request("POST /tenants/protocols", headers));
    const piece = Buffer.alloc(65_536, " ");
    const chunk = Buffer.concat([Buffer.from("10000\r\n"), piece, Buffer.from("\r\n")]);
    let sent = 0;
    // The body has no end, so a server that read all of it first would never answer.
    while (!connection.socket.closed && connection.received === "" && sent < 100 * bodyLimit) {
      await connection.write(chunk);
      sent += piece.length;
    }
    expect(problemIn(await connection.whole())).toEqual({ status: 413, code: "payload_too_large" });
    expect(sent).toBeLessThan(20 * bodyLimit);
  });

  test("and stays exactly at the limit is served", async () => {
    const body = protocol("Padded");
    expect(await exchange(port, post(body + " ".repeat(bodyLimit - body.length)))).toContain("HTTP/1.1 201 ");
  });
});

describe("an invalid body", () => {
  test("compressed gets 415", async () => {
    const body = gzipSync(protocol("Compressed"));
    const headers = authorized({ ...json, "content-encoding": "gzip", "content-length": String(body.length) });
    const answer = await exchange(port, request("POST /tenants/protocols", headers), body);
    expect(problemIn(answer)).toEqual({ status: 415, code: "unsupported_media_type" });
  });

  test("of another type gets 415", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "nonsense", "a/b; c"]) {
      expect(problemIn(await exchange(port, post("{}", { "content-type": type })))).toMatchObject({ status: 415 });
    }
  });

  test("shorter than announced, when the client closes its side, gets no 5xx", async () => {
    const connection = await RawConnection.open(port);
    connection.socket.end(post(protocol("Short"), { "content-length": "5000" }));
    expect(await connection.whole()).not.toMatch(/HTTP\/1.1 (2|5)/);
  });
});

describe("invalid HTTP", () => {
  test.each([
    ["noise", "\u0016\u0003\u0001 not HTTP at all\r\n\r\n"],
    ["an unknown method", "FETCH / HTTP/1.1\r\nhost: localhost\r\n\r\n"],
    ["the version of HTTP/2", "GET /healthz HTTP/2.0\r\nhost: localhost\r\nconnection: close\r\n\r\n"],
    ["an unknown version", "GET / HTTP/9.9\r\nhost: localhost\r\n\r\n"],
    ["a header without a colon", "GET /healthz HTTP/1.1\r\nhost localhost\r\n\r\n"],
    ["a line feed inside a header", "GET /healthz HTTP/1.1\r\nhost: localhost\r\napikey: a\nx: b\r\n\r\n"],
    ["a zero byte inside a header", "GET /healthz HTTP/1.1\r\nhost: localhost\r\napikey: a\u0000b\r\n\r\n"],
    [
      "two lengths",
      "POST /tenants/protocols HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    ],
    [
      "a length beside chunks",
      "POST /tenants/protocols HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a negative length", "POST /tenants/protocols HTTP/1.1\r\nhost: localhost\r\ncontent-length: -2\r\n\r\n{}"],
    [
      "an invalid chunk",
      "POST /tenants/protocols HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    ],
  ])("%s gets 400, and its connection is closed", async (_what, bytes) => {
    const answer = await exchange(port, Buffer.from(bytes, "latin1"));
    // The header may have been answered before the error in the body was found.
    if (answer.startsWith("HTTP/1.1 401 ")) return;
    expect(problemIn(answer)).toEqual({ status: 400, code: "invalid_parameter" });
  });

  test("after a complete request is not taken for its answer", async () => {
    const first = request("GET /tenants/protocols", authorized({ connection: "keep-alive" }));
    const answer = await exchange(port, `${first}noise\r\n\r\n`);
    const bodyAt = answer.indexOf("\r\n\r\n") + 4;
    const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
    // The connection is closed if the request is not answered yet.
    if (answer === "") return;
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer.slice(bodyAt + length)).toMatch(/^(HTTP\/1.1 400 |$)/);
  });
});

describe("no text from a client", () => {
  const injection = "%0d%0aX-Injected:%20yes";

  test.each([
    ["in the path", () => request(`GET /tenants/resources/${injection}`, authorized())],
    ["in the query", () => request(`GET /tenants/resources?sort=${injection}`, authorized())],
    ["in a parameter's name", () => request(`GET /tenants/resources?${injection}=1`, authorized())],
    // X-Request-Id is returned as it is, in one line.
    [
      "in a header",
      () => request("GET /tenants/resources", authorized({ "x-request-id": `mine${injection}`, "if-match": '"x"' })),
    ],
  ])("%s becomes a header of the answer", async (_where, bytes) => {
    const [head = ""] = (await exchange(port, bytes())).split("\r\n\r\n", 1);
    expect(head).not.toMatch(/^x-injected/im);
  });

  test.each(["/tenants/resources/%", "/tenants/resources/%zz", "/%c0%ae%c0%ae/", "/tenants/resources?filter[name]=%"])(
    "turns the malformed address %s into more than a client error",
    async (path) => {
      const answer = await exchange(port, request(`GET ${path}`, authorized()));
      if (!answer.startsWith("HTTP/1.1 200 ")) expect([400, 404]).toContain(problemIn(answer).status);
    },
  );
});

test.each(["/healthz", "/readyz"])("%s is not stored by caches", async (path) => {
  expect(await exchange(port, request(`GET ${path}`))).toMatch(/^cache-control: no-store$/im);
});

describe("an ambiguous or pipelined request", () => {
  test("with two Host headers gets 400", async () => {
    const hosts =
      "GET /tenants/protocols HTTP/1.1\r\nHost: one.example.com\r\nHost: two.example.com\r\nConnection: close";
    const answer = await exchange(port, `${hosts}\r\napikey: ${tenant.key}\r\n\r\n`);
    expect(problemIn(answer)).toEqual({ status: 400, code: "invalid_parameter" });
  });

  test("with two Authorization headers gets 400", async () => {
    const { key: other } = await server.newTenant();
    const keys = [tenant.key, other].map((key) => `Authorization: Bearer ${key}\r\n`).join("");
    const start = "GET /tenants/protocols HTTP/1.1\r\nHost: one.example.com\r\nConnection: close\r\n";
    expect(problemIn(await exchange(port, `${start}${keys}\r\n`))).toMatchObject({ status: 400 });
  });

  test.each([
    ["https://other.example.com/tenants/protocols", 400],
    ["http://me@one.example.com/tenants/protocols", 400],
    ["http://one.example.com:81/tenants/protocols", 400],
    ["http://ONE.example.com/tenants/protocols", 200],
  ])("with the target %s and the host one.example.com gets %d", async (target, status) => {
    const answer = await exchange(port, request(`GET ${target}`, authorized({ host: "one.example.com" })));
    expect(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])).toBe(status);
  });

  test("with an offer of another protocol is answered, however many are pipelined", async () => {
    const offer = { connection: "upgrade, http2-settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQAAP__" };
    const pipelined = Array.from({ length: 200 }, (_, index) =>
      request("GET /healthz", { ...offer, "x-request-id": `pipelined-${index}` }),
    );
    const answer = await exchange(port, pipelined.join("") + request("GET /healthz"));
    const ids = [...answer.matchAll(/x-request-id: pipelined-(\d+)/gi)].map(([, index]) => Number(index));
    expect(ids).toEqual(Array.from({ length: 200 }, (_, index) => index));
  });

  test("for a link is answered after the requests before it", async () => {
    const keepAlive = { connection: "keep-alive" };
    const link = request("GET /gateway/v1/link", { connection: "upgrade", upgrade: "websocket" });
    const answer = await exchange(port, request("GET /tenants/users", { ...authorized(), ...keepAlive }) + link);
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "401"]);
  });

  test("for a link is answered after large responses to the requests before it", async () => {
    const large = request("GET /docs/swagger-ui-bundle.js", { connection: "keep-alive" }).repeat(10);
    const link = request("GET /gateway/v1/link", { connection: "upgrade", upgrade: "websocket" });
    const answer = await exchange(port, large + link);
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
    expect(statuses).toEqual([...Array<string>(10).fill("200"), "401"]);
  });
});
