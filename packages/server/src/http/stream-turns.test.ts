import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { firstCertificate } from "../testing/certificates.ts";
import { TestClock } from "../testing/test-clock.ts";
import { until } from "../testing/until.ts";
import { RequestTurns } from "./request-turns.ts";
import { endTurn } from "./stream-turns.ts";
import { createTlsServer } from "./tls-server.ts";

const pair = { cert: Buffer.from(firstCertificate.cert), key: Buffer.from(firstCertificate.key) };
const mostRunning = 8;

interface Running {
  readonly path: string;
  readonly response: ServerResponse;
}

/** A server whose requests run until the test answers them. */
async function start(
  options: { readonly trustedProxies?: readonly string[]; readonly requestTimeoutMs?: number } = {},
) {
  const running: Running[] = [];
  const began: string[] = [];
  const handler = (request: { url?: string | undefined }, response: ServerResponse) => {
    const entry = { path: request.url ?? "", response };
    running.push(entry);
    began.push(entry.path);
    response.once("close", () => running.splice(running.indexOf(entry), 1));
  };
  const server = createTlsServer(handler, {
    certificate: { source: "file", pair, validTo: undefined, onReplaced: () => undefined },
    clock: new TestClock(),
    turns: new RequestTurns(),
    trustedProxies: [],
    requestTimeoutMs: 10_000,
    idleTimeoutMs: 10_000,
    stallMs: 10_000,
    ...options,
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // of a server that listens on TCP
  const open = async (): Promise<ClientHttp2Session> => {
    const session = connect(`https://localhost:${port}`, { ca: firstCertificate.cert });
    session.on("error", () => undefined);
    onTestFinished(() => session.destroy());
    await once(session, "connect");
    return session;
  };
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, running, began, open };
}

function get(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  return session.request({ ":path": path }).on("error", () => undefined);
}

function paths(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `/${index}`);
}

/** Waits until the server has received everything that the client has sent. */
async function arrived(session: ClientHttp2Session): Promise<void> {
  await new Promise<void>((resolve) => session.ping(() => resolve()));
}

test("a connection runs 8 requests at once, and others in the order of their arrival", async () => {
  const { running, began, open } = await start();
  const session = await open();
  const all = paths(60);
  const answers = all.map((path) => text(get(session, path)));
  await arrived(session);
  let most = 0;
  for (let count = 0; count < all.length; count += 1) {
    await until("a request runs", () => running.length > 0);
    most = Math.max(most, running.length);
    running[0]?.response.end(running[0].path);
    const ended = running[0];
    await until("the request has ended", () => running[0] !== ended);
  }
  expect(most).toBe(mostRunning);
  expect(began).toEqual(all);
  expect(await Promise.all(answers)).toEqual(all);
});

test("connections do not wait for each other", async () => {
  const { running, open } = await start();
  const [one, two] = [await open(), await open()];
  for (const path of paths(20)) get(one, path);
  await arrived(one);
  get(two, "/other");
  await until("the request of the other connection runs", () => running.at(-1)?.path === "/other");
  expect(running).toHaveLength(mostRunning + 1);
});

test("streams that close while they wait never run", async () => {
  const { running, began, open } = await start();
  const session = await open();
  const streams = paths(10).map((path) => get(session, path));
  await arrived(session);
  streams[8]?.close(constants.NGHTTP2_CANCEL);
  await arrived(session);
  for (let count = 0; count < 9; count += 1) {
    const [first] = running;
    first?.response.end();
    await until("the request has ended", () => running[0] !== first);
  }
  expect(began).toEqual(paths(10).filter((path) => path !== "/8"));
});

test("requests that wait never run if the connection breaks", async () => {
  const { server, running, began, open } = await start();
  const accepted = once(server, "connection");
  const session = await open();
  const [connection] = await accepted;
  for (const path of paths(20)) get(session, path);
  await until("the first requests run", () => running.length === mostRunning);
  connection.destroy();
  await until("the requests have ended", () => running.length === 0);
  // A request would run in a later turn.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(began).toEqual(paths(mostRunning));
});

test("live responses take no turns", async () => {
  const { running, open } = await start();
  const session = await open();
  for (let count = 1; count <= 20; count += 1) {
    get(session, `/live-${count}`);
    await until("the stream runs", () => running.length === count);
    running.at(-1)?.response.writeHead(200).write("event");
    endTurn(running.at(-1)?.response as ServerResponse);
  }
  for (const path of paths(20)) get(session, path);
  await arrived(session);
  expect(running).toHaveLength(20 + mostRunning);
});

test("the time limit of a body begins with the turn of its request", async () => {
  const { running, began, open } = await start({ requestTimeoutMs: 1_000 });
  const session = await open();
  for (const path of paths(mostRunning)) get(session, path);
  const upload = session.request({ ":path": "/upload", ":method": "POST" }).on("error", () => undefined);
  await arrived(session);
  // An upload of another connection, whose time limit ends later than that of the first one would have.
  const other = await open();
  const later = other.request({ ":path": "/later", ":method": "POST" }).on("error", () => undefined);
  await once(later, "close");
  expect([upload.closed, began.includes("/upload")]).toEqual([false, false]);
  running.find(({ path }) => path === "/0")?.response.end();
  await until("the upload is closed", () => upload.closed);
  expect([upload.rstCode, began.includes("/upload")]).toEqual([constants.NGHTTP2_CANCEL, true]);
});

test("connections of trusted proxies carry requests of many clients, and take no turns", async () => {
  const { running, open } = await start({ trustedProxies: ["127.0.0.0/8", "::1/128"] });
  const session = await open();
  for (const path of paths(20)) get(session, path);
  await until("all requests run", () => running.length === 20);
});
