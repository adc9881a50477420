/** Clients that do not read their responses, over TLS. */
import { once } from "node:events";
import { connect as connectHttp2, constants } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { operation } from "@gatehouse/contract/operation";
import { finish, type Work } from "@gatehouse/policy/work";
import Fastify, { type FastifyInstance } from "fastify";
import Type from "typebox";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { TenantPace } from "../platform/concurrency/tenant-pace.ts";
import { PreparedAnswer } from "../platform/prepared-answer.ts";
import { firstCertificate } from "../testing/certificates.ts";
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
import { createTlsServer } from "./tls-server.ts";
import { UnsentBytes } from "./unsent-bytes.ts";
import { limitUnsentBytes } from "./unsent-of-callers.ts";

const readMuch = operation({
  id: "readMuch",
  method: "GET",
  path: "/much",
  tag: "Tests",
  summary: "Read much",
  access: "users:read",
  success: { status: 200, kind: "array", item: Type.String() },
});

const forget = operation({
  id: "deleteMuch",
  method: "DELETE",
  path: "/much",
  tag: "Tests",
  summary: "Delete much",
  access: "users:read",
  success: { status: 204, kind: "empty" },
});

/** More than the buffers of the system hold. */
const answerBytes = 16 * 1_048_576;
const holderBytes = 3 * answerBytes;
const pair = { cert: Buffer.from(firstCertificate.cert), key: Buffer.from(firstCertificate.key) };

let app: FastifyInstance;
let clock: TestClock;
let unsent: UnsentBytes;
let calls: number;
let port: number;

beforeEach(async () => {
  clock = new TestClock();
  unsent = new UnsentBytes(clock, { holderBytes, totalBytes: 100 * answerBytes });
  calls = 0;
  app = Fastify({
    forceCloseConnections: true,
    serverFactory: (handler) =>
      createTlsServer(handler, {
        certificate: { source: "file", pair, validTo: undefined, onReplaced: () => undefined },
        clock,
        turns: new RequestTurns(),
        trustedProxies: [],
        requestTimeoutMs: 30_000,
        idleTimeoutMs: 65_000,
        stallMs: 60_000,
      }),
  });
  limitUnsentBytes(app, unsent);
  const decide = async <Result>(_tenantId: string, work: Work<Result>) => finish(work);
  const pace = new TenantPace({ nowMs: () => 0, activeMs: () => 0, after: (_ms, callback) => callback() });
  const runner = { pace, evaluator: { decide } } as unknown as MountOptions["runner"]; // the operation uses nothing else
  readBodies(app, runner);
  app.decorateRequest("caller", undefined);
  observeRequests(app, { log: testLog });
  app.setErrorHandler(replyWithProblem);
  const permissions = new Set(["users:read"]);
  const tenantKey = (tenantId: string) => ({ actor: { type: "api_key", id: tenantId }, permissions, tenantId });
  const handler = async () => {
    calls += 1;
    const answer = PreparedAnswer.of(() => ({ body: ["x".repeat(answerBytes - 4)] }));
    return { kind: "prepared", answer } as const;
  };
  const options: MountOptions = {
    runner,
    clock,
    bodies: new BodyMemory(),
    plannedRequests: { find: () => undefined },
    limits: new RateLimits({ requests: undefined, failures: undefined, clock }),
    authenticator: { tenantKey } as unknown as MountOptions["authenticator"], // requests have keys
  };
  mount(app, route(readMuch, handler), options);
  mount(
    app,
    route(forget, async () => ({ kind: "empty" }) as const),
    options,
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  port = (app.server.address() as AddressInfo).port; // listens on TCP
});

afterEach(() => app.close());

interface Client {
  /** Requests an answer, and reads no more than its headers. Returns its status. */
  request(key: string): Promise<number>;
  end(): void;
}

/** A client that accepts no content. */
function overHttp2(): Client {
  const settings = { initialWindowSize: 0 };
  const session = connectHttp2(`https://localhost:${port}`, { ca: firstCertificate.cert, settings });
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  return {
    async request(key) {
      const stream = session.request({ ":path": "/much", apikey: key }).on("error", () => undefined);
      const [headers] = await once(stream, "response");
      return headers[":status"];
    },
    end: () => session.destroy(),
  };
}

/** A client that opens a connection for each request. */
function overHttp1(): Client {
  const sockets: TLSSocket[] = [];
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(end);
  return {
    async request(key) {
      const socket = connectTls({ host: "127.0.0.1", port, servername: "localhost", ca: firstCertificate.cert });
      sockets.push(socket.on("error", () => undefined));
      socket.write(`GET /much HTTP/1.1\r\nHost: localhost\r\napikey: ${key}\r\n\r\n`);
      const [chunk] = await once(socket, "data");
      socket.pause();
      return Number(String(chunk).slice(9, 12));
    },
    end,
  };
}

describe.each([
  ["HTTP/2", overHttp2],
  ["HTTP/1.1", overHttp1],
])("over %s, a tenant that reads nothing", (_protocol, connect) => {
  test("is refused at its limit, before its requests run, until its client has gone", async () => {
    const client = connect();
    for (let count = 0; count < 3; count += 1) expect(await client.request("tenant")).toBe(200);
    expect(unsent.bytes("tenant")).toBe(holderBytes);
    expect([await client.request("tenant"), await connect().request("tenant")]).toEqual([429, 429]);
    expect(calls).toBe(3);
    expect(unsent.bytes("tenant")).toBe(holderBytes);
    const neighbour = connect();
    expect(await neighbour.request("neighbour")).toBe(200);
    client.end();
    await until("the memory is free", () => unsent.bytes("tenant") === 0);
    expect(await connect().request("tenant")).toBe(200);
  });

  test("is limited for answers that are prepared at the same time", async () => {
    const clients = Array.from({ length: 6 }, connect);
    const statuses = await Promise.all(clients.map((client) => client.request("tenant")));
    expect(statuses.sort()).toEqual([200, 200, 200, 429, 429, 429]);
    expect(unsent.bytes("tenant")).toBe(holderBytes);
  });
});

test("a refused read says when to send it again", async () => {
  const client = overHttp2();
  for (let count = 0; count < 3; count += 1) await client.request("tenant");
  const reply = await fetchMuch();
  expect(reply.headers).toMatchObject({ ":status": 429, "retry-after": "5", "cache-control": "no-store" });
  expect(JSON.parse(reply.text)).toMatchObject({ code: "rate_limited", detail: expect.stringContaining("48 MiB") });
});

test("requests whose success has no content need no room", async () => {
  const client = overHttp2();
  for (let count = 0; count < 3; count += 1) await client.request("tenant");
  expect(await client.request("tenant")).toBe(429);
  const session = connectHttp2(`https://localhost:${port}`, { ca: firstCertificate.cert });
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":method": "DELETE", ":path": "/much", apikey: "tenant" });
  const [headers] = await once(stream, "response");
  expect(headers[":status"]).toBe(204);
});

test("a client that reads everything leaves nothing behind", async () => {
  const { headers, text } = await fetchMuch();
  expect([headers[":status"], text.length]).toEqual([200, answerBytes]);
  await until("the memory is free", () => unsent.bytes() === 0);
});

async function fetchMuch() {
  const session = connectHttp2(`https://localhost:${port}`, { ca: firstCertificate.cert });
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":path": "/much", apikey: "tenant" });
  const [headers] = await once(stream, "response");
  let text = "";
  for await (const chunk of stream) text += chunk;
  return { headers, text };
}

describe("a client that reads a little in each minute", () => {
  test("loses its stream over HTTP/2", async () => {
    const session = connectHttp2(`https://localhost:${port}`, { ca: firstCertificate.cert });
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":path": "/much", apikey: "tenant" }).on("error", () => undefined);
    let isClosed = false;
    stream.once("close", () => {
      isClosed = true;
    });
    await once(stream, "readable");
    await until("the stream is closed", () => {
      stream.read(1);
      clock.advance(60_000);
      unsent.check();
      return isClosed;
    });
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    expect(unsent.bytes()).toBe(0);
  });

  test("loses its connection over HTTP/1.1", async () => {
    const socket = connectTls({ host: "127.0.0.1", port, servername: "localhost", ca: firstCertificate.cert });
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    const closed = once(socket, "close");
    socket.write("GET /much HTTP/1.1\r\nHost: localhost\r\napikey: tenant\r\n\r\n");
    await once(socket, "readable");
    await until("the response is ended", () => {
      socket.read(1);
      clock.advance(60_000);
      unsent.check();
      return unsent.bytes() === 0;
    });
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(answerBytes);
  });
});
