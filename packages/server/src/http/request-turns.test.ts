import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../testing/until.ts";
import { RequestTurns } from "./request-turns.ts";

interface Running {
  readonly path: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const checkMs = 20;

/** A server whose requests run until the test answers them, and a client. */
async function start(requestTimeoutMs = 30_000) {
  const running: Running[] = [];
  const began: string[] = [];
  const turns = new RequestTurns();
  const times = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: checkMs,
  };
  const handler = turns.inTurn((request, response) => {
    const entry = { path: request.url ?? "", request, response };
    running.push(entry);
    began.push(entry.path);
    response.once("close", () => running.splice(running.indexOf(entry), 1));
  });
  const server = createServer(times, handler);
  server.on("upgrade", (_request, socket) => turns.release(socket.on("error", () => undefined)));
  const late: Socket[] = [];
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") late.push(socket);
    if (error.code !== "ERR_HTTP_REQUEST_TIMEOUT" || !turns.closeInTurn(socket)) socket.destroy();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // of a server that listens on TCP
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
  });
  const accepted = once(server, "connection");
  onTestFinished(() => {
    socket.destroy();
    server.close();
    server.closeAllConnections();
  });
  const [connection] = (await accepted) as [Socket];
  const answer = (text: string) => running[0]?.response.end(text);
  const bodies = () => [...received.matchAll(/<(.*?)>/g)].map(([, body]) => body);
  return { server, turns, running, began, socket, connection, answer, bodies, late, received: () => received };
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

function post(path: string, length: number): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;
}

function paths(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `/${index}`);
}

test("pipelined requests run one at a time, and are answered in order", async () => {
  const { running, began, socket, answer, bodies } = await start();
  const all = paths(300);
  socket.write(all.map(get).join(""));
  for (const path of all) {
    await until("the next request runs", () => began.at(-1) === path);
    expect(running).toHaveLength(1);
    answer(`<${path}>`);
  }
  await until("all are answered", () => bodies().length === all.length);
  expect(bodies()).toEqual(all);
});

test("a request behind a body is served, and a body behind a request is read in its turn", async () => {
  const { running, socket, answer, bodies } = await start();
  const large = "x".repeat(500_000);
  socket.write(`${post("/a", large.length)}${large}${get("/b")}${post("/c", large.length)}${large}${get("/d")}`);
  for (const path of ["/a", "/b", "/c", "/d"]) {
    await until("the request runs", () => running[0]?.path === path);
    let length = 0;
    for await (const chunk of running[0]?.request ?? []) length += chunk.length;
    answer(`<${path} ${length}>`);
  }
  await until("all are answered", () => bodies().length === 4);
  expect(bodies()).toEqual(["/a 500000", "/b 0", "/c 500000", "/d 0"]);
});

test("a response with Connection: close is the last one", async () => {
  const { running, began, socket, bodies } = await start();
  socket.write(["/a", "/b", "/c"].map(get).join(""));
  await until("the first request runs", () => running.length === 1);
  running[0]?.response.setHeader("connection", "close").end("<a>");
  await once(socket, "close");
  expect([bodies(), began]).toEqual([["a"], ["/a"]]);
});

test("requests that wait never run if the client disconnects", async () => {
  const { began, running, socket, connection } = await start();
  socket.write(["/a", "/b", "/c"].map(get).join(""));
  await until("the first request runs", () => running.length === 1);
  socket.destroy();
  await until("the connection is closed", () => connection.destroyed && running.length === 0);
  // A request would run in a later turn.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(began).toEqual(["/a"]);
});

test("a connection is not read while many requests wait", async () => {
  const { running, began, socket, connection, answer } = await start();
  const head = `GET /a HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(8_000)}\r\n\r\n`;
  socket.write(head.repeat(2_000));
  await until("the first request runs", () => running.length === 1);
  await until("the client cannot send more", () => socket.writableLength > 0);
  const chunk = 65_536;
  expect(connection.bytesRead).toBeLessThan(12 * head.length + 2 * chunk);
  const { bytesRead } = connection;
  for (let count = 2; count <= 30; count += 1) {
    answer("");
    await until("the next request runs", () => began.length === count);
  }
  expect(connection.bytesRead).toBeGreaterThan(bytesRead);
  expect(running).toHaveLength(1);
});

test.each([
  ["the second body", `${get("/a")}${post("/b", 20_000)}${"x".repeat(20_000)}`],
  ["the tenth body", `${get("/a")}${post("/b", 20_000)}${"x".repeat(20_000)}${get("/c").repeat(8)}`],
])("%s that waits is not read beyond a chunk or two", async (_, before) => {
  const { running, socket, connection } = await start();
  socket.write(`${before}${post("/last", 1e12)}${"x".repeat(20_000)}`);
  socket.write("x".repeat(100_000_000));
  await until("the first request runs", () => running.length === 1);
  // Each connection takes a turn of the event loop, in which a chunk would be read.
  for (let count = 0; count < 300; count += 1) {
    const other = connect(socket.remotePort ?? 0, "127.0.0.1").on("error", () => undefined);
    await once(other, "connect");
    other.destroy();
  }
  expect(connection.bytesRead).toBeLessThan(before.length + 10 * 65_536);
});

test("a response before an upgrade learns that its client reads nothing, or reads again", async () => {
  const { running, server, socket, answer } = await start();
  socket.pause();
  const upgraded = once(server, "upgrade");
  socket.write(
    `${get("/a")}${get("/b")}GET /c HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n`,
  );
  await upgraded;
  answer("");
  await until("the second request runs", () => running[0]?.path === "/b");
  const response = running[0]?.response as ServerResponse;
  response.setTimeout(50);
  response.write("x".repeat(32_000_000));
  await once(response, "timeout");
  response.setTimeout(0);
  const drained = once(response, "drain");
  socket.resume();
  await drained;
});

test("a connection with too many waiting requests is closed", async () => {
  const { began, socket } = await start();
  socket.write("GET / HTTP/1.1\r\nHost:\r\n\r\n".repeat(1_100));
  await once(socket, "close");
  expect(began).toEqual(["/"]);
});

test("a body that comes late behind a running request does not cut its response", async () => {
  const { running, began, socket, late, bodies, received } = await start(50);
  socket.write(`${get("/a")}${get("/b")}${post("/c", 100)}`);
  await until("the time is over", () => late.length === 1);
  running[0]?.response.end("<a>");
  await until("the next request runs", () => running[0]?.path === "/b");
  running[0]?.response.end("<b>");
  await once(socket, "close");
  expect([bodies(), began]).toEqual([
    ["a", "b"],
    ["/a", "/b"],
  ]);
  expect(received().match(/Connection: (\S+)/g)).toEqual(["Connection: keep-alive", "Connection: close"]);
});

test("a body that comes late behind a response in progress ends with it", async () => {
  const { running, began, socket, late, bodies } = await start(50);
  socket.write(`${get("/a")}${post("/b", 100)}`);
  await until("the first request runs", () => running.length === 1);
  running[0]?.response.write("<begin>");
  await until("the time is over", () => late.length === 1);
  running[0]?.response.end("<end>");
  await once(socket, "close");
  expect([bodies(), began]).toEqual([["begin", "end"], ["/a"]]);
});

test("a request with Expect runs in its turn", async () => {
  const { running, socket, answer, received } = await start();
  socket.write(get("/a") + post("/b", 1).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"));
  await until("the first request runs", () => running.length === 1);
  expect(received()).toBe("");
  answer("<a>");
  await until("the client may send", () => received().includes("100 Continue"));
  expect(received().indexOf("<a>")).toBeLessThan(received().indexOf("100 Continue"));
  await until("the next request runs", () => running[0]?.path === "/b");
});

test("a connection without requests in progress is kept", async () => {
  const { running, socket, answer, bodies, turns, connection } = await start();
  for (const path of ["/a", "/b"]) {
    socket.write(get(path));
    await until("the request runs", () => running[0]?.path === path);
    expect(turns.closeInTurn(connection)).toBe(false);
    answer(`<${path}>`);
    await until("the request is answered", () => bodies().at(-1) === path && running.length === 0);
  }
});
