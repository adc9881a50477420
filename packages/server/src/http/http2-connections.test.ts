import { EventEmitter, once } from "node:events";
import type { RequestListener, ServerResponse } from "node:http";
import { type ClientHttp2Session, connect, constants, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import { firstCertificate } from "../testing/certificates.ts";
import { TestClock } from "../testing/test-clock.ts";
import { until } from "../testing/until.ts";
import { Http2Connections } from "./http2-connections.ts";
import { RequestTurns } from "./request-turns.ts";
import { allowStall } from "./stalled-responses.ts";
import { createTlsServer } from "./tls-server.ts";

const stallMs = 80;
const pair = { cert: Buffer.from(firstCertificate.cert), key: Buffer.from(firstCertificate.key) };

async function listen(handler: RequestListener) {
  const server = createTlsServer(handler, {
    certificate: { source: "file", pair, validTo: undefined, onReplaced: () => undefined },
    clock: new TestClock(),
    turns: new RequestTurns(),
    trustedProxies: [],
    requestTimeoutMs: 10_000,
    idleTimeoutMs: 200,
    stallMs,
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, port: (server.address() as AddressInfo).port }; // of a server that listens on TCP
}

/** A client that accepts no content. */
function connectWithoutWindow(port: number): ClientHttp2Session {
  const session = connect(`https://localhost:${port}`, {
    ca: firstCertificate.cert,
    settings: { initialWindowSize: 0 },
  });
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

async function closeCodeOf(stream: ReturnType<ClientHttp2Session["request"]>): Promise<number> {
  stream.on("error", () => undefined);
  await once(stream, "close");
  return stream.rstCode;
}

describe("a client that never reads", () => {
  test("loses its streams, but not its connection", async () => {
    const { port } = await listen((_request, response) => response.end("content"));
    const session = connectWithoutWindow(port);
    const codes = Array.from({ length: 20 }, () => closeCodeOf(session.request({ ":path": "/" })));
    // Other traffic is not progress of a stream.
    const pings = setInterval(() => session.ping(() => undefined), stallMs / 4);
    expect(new Set(await Promise.all(codes))).toEqual(new Set([constants.NGHTTP2_CANCEL]));
    clearInterval(pings);
    const [headers] = await once(session.request({ ":path": "/" }), "response");
    expect(headers[":status"]).toBe(200);
  });

  test("keeps a stream that waits for the server", async () => {
    const responses: ServerResponse[] = [];
    const { port } = await listen((_request, response) => {
      responses.push(response);
    });
    const session = connectWithoutWindow(port);
    const code = closeCodeOf(session.request({ ":path": "/waits" }));
    await until("the request arrived", () => responses.length === 1);
    // A stream that began later is closed for its content.
    const later = closeCodeOf(session.request({ ":path": "/sends" }));
    await until("the other request arrived", () => responses.length === 2);
    responses[1]?.end("content");
    expect(await later).toBe(constants.NGHTTP2_CANCEL);
    expect(responses[0]?.writable).toBe(true);
    responses[0]?.end("content");
    expect(await code).toBe(constants.NGHTTP2_CANCEL);
  });

  test("keeps a stream with a longer limit until then", async () => {
    const closed: string[] = [];
    const { port } = await listen((request, response) => {
      if (request.url === "/export") allowStall(response, 4 * stallMs);
      response.end("content");
    });
    const session = connectWithoutWindow(port);
    const paths = ["/export", "/short"];
    await Promise.all(
      paths.map(async (path) => {
        await closeCodeOf(session.request({ ":path": path }));
        closed.push(path);
      }),
    );
    expect(closed).toEqual(["/short", "/export"]);
  });

  test("loses its connection if it does not even read that", async () => {
    const { server, port } = await listen((_request, response) => response.end(Buffer.alloc(32 * 1024 * 1024)));
    const accepted = once(server, "connection");
    const socket = connectTls({
      port,
      host: "127.0.0.1",
      ca: firstCertificate.cert,
      servername: "localhost",
      ALPNProtocols: ["h2"],
    });
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    await once(socket, "secureConnect");
    const frame = (type: number, flags: number, stream: number, content: readonly number[]) =>
      Buffer.from([0, 0, content.length, type, flags, 0, 0, 0, stream, ...content]);
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(frame(4, 0, 0, [0, 4, 0x7f, 0xff, 0xff, 0xff])); // SETTINGS: windows of streams
    socket.write(frame(8, 0, 0, [0x7f, 0, 0, 0])); // WINDOW_UPDATE of the connection
    socket.write(frame(1, 5, 1, [0x82, 0x87, 0x84, 0x41, 9, ...Buffer.from("localhost")])); // HEADERS of GET /
    const [ofServer] = await accepted;
    await until("the server closes the connection", () => ofServer.destroyed);
  });
});

describe("the connections of an address", () => {
  class FakeSocket extends EventEmitter {
    readonly remoteAddress: string;

    constructor(remoteAddress: string) {
      super();
      this.remoteAddress = remoteAddress;
    }
  }

  function start(trustedProxies: readonly string[] = []) {
    const connections = new Http2Connections({ trustedProxies, stallMs });
    const open = (remoteAddress: string) => {
      const socket = new FakeSocket(remoteAddress) as unknown as TLSSocket;
      const session = new EventEmitter() as never;
      const isAdmitted = connections.admit(socket);
      if (isAdmitted) connections.add(session, socket);
      return { socket, session, isAdmitted };
    };
    const request = (session: never) => {
      const stream = Object.assign(new EventEmitter(), { session, refused: 0, close: (code: number) => code });
      const codes: number[] = [];
      stream.close = (code) => codes.push(code);
      return { stream, codes, isServed: connections.serves(stream as unknown as ServerHttp2Stream) };
    };
    return { connections, open, request };
  }

  const client = "192.0.2.1";

  test("use HTTP/2 for at most 100", () => {
    const { open } = start();
    const [first] = Array.from({ length: 100 }, () => open(client));
    expect([open(client).isAdmitted, open("192.0.2.2").isAdmitted]).toEqual([false, true]);
    first?.socket.emit("close");
    expect([open(client).isAdmitted, open(client).isAdmitted]).toEqual([true, false]);
  });

  test("have 1,000 streams together, and more only as a share of 10 for each connection", () => {
    const { open, request } = start();
    const greedy = Array.from({ length: 10 }, () => open(client).session);
    const streams = greedy.flatMap((session) => Array.from({ length: 100 }, () => request(session)));
    expect(streams.every(({ isServed }) => isServed)).toBe(true);
    const refused = request(greedy[0] as never);
    expect([refused.isServed, refused.codes]).toEqual([false, [constants.NGHTTP2_REFUSED_STREAM]]);
    const { session: other } = open(client);
    const served = Array.from({ length: 11 }, () => request(other).isServed);
    expect(served).toEqual([...Array.from({ length: 10 }, () => true), false]);
    // Closed streams make room.
    for (const { stream } of streams.slice(0, 20)) stream.emit("close");
    expect(request(greedy[0] as never).isServed).toBe(true);
  });

  test("are not limited for trusted proxies, in either form of their address", () => {
    const { open, request } = start(["192.0.2.0/24"]);
    for (const address of [client, `::ffff:${client}`]) {
      const opened = Array.from({ length: 101 }, () => open(address));
      expect(opened.every(({ isAdmitted }) => isAdmitted)).toBe(true);
      const served = opened.slice(0, 20).flatMap(({ session }) => Array.from({ length: 100 }, () => request(session)));
      expect(served.every(({ isServed }) => isServed)).toBe(true);
    }
  });
});
