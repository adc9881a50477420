import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { firstCertificate } from "../../testing/certificates.ts";
import { BoundedConnection, TooManyBytesError } from "./bounded-connection.ts";
import type { Pace } from "./handshake-pace.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const unpaced: Pace = { pauseOf: () => undefined, count: () => undefined };

describe("without TLS", () => {
  test("passes bytes on in both directions, and the end", async () => {
    const server = await listening(createServer((socket) => void socket.pipe(socket)));
    const connection = new BoundedConnection(connectTo(server), { maxBytes: 5 });
    connection.end("hello");
    expect(await text(connection)).toBe("hello");
  });

  test("fails after the last byte that it may receive", async () => {
    const server = await listening(createServer((socket) => void socket.end("hello")));
    const connection = new BoundedConnection(connectTo(server), { maxBytes: 4 });
    const received: Buffer[] = [];
    connection.on("data", (chunk: Buffer) => received.push(chunk));
    await expect(once(connection, "close")).rejects.toBeInstanceOf(TooManyBytesError);
    expect(Buffer.concat(received).toString()).toBe("hell");
  });
});

describe("with TLS", () => {
  test("passes on what follows the handshake", async () => {
    const server = await tlsServer((socket) => void socket.end("a".repeat(40_000)));
    const { encrypted, connection } = connectWithTls(server, unpaced);
    encrypted.on("secureConnect", () => connection.endHandshake(50_000));
    expect(await text(encrypted)).toBe("a".repeat(40_000));
  });

  test("fails if a certificate chain is longer than the handshake may be", async () => {
    const server = await tlsServer(() => undefined, firstCertificate.cert.repeat(50));
    const { connection } = connectWithTls(server, unpaced);
    await expect(once(connection, "close")).rejects.toBeInstanceOf(TooManyBytesError);
  });

  test("waits for the pauses of the tenant, and counts what the steps take", async () => {
    const server = await tlsServer((socket) => void socket.end());
    const pauses = [pause(), pause()];
    const [first, second] = pauses;
    const seen: string[] = [];
    const { encrypted, connection } = connectWithTls(server, {
      pauseOf(tenantId) {
        seen.push(`pause of ${tenantId}`);
        return pauses.shift()?.begin();
      },
      count(tenantId, usedMs) {
        seen.push(`step of ${tenantId}: ${usedMs >= 0}`);
      },
    });
    encrypted.on("secureConnect", () => connection.endHandshake(50_000));
    await first?.begun;
    first?.end();
    await second?.begun;
    expect(seen).toEqual(["pause of acme", "pause of acme"]);
    second?.end();
    await once(encrypted, "secureConnect");
    expect(seen.slice(2, 4)).toEqual(["pause of acme", "step of acme: true"]);
  });

  test("can end during a pause", async () => {
    const server = await tlsServer(() => undefined);
    const pauses = [pause()];
    const [only] = pauses;
    const { encrypted, connection } = connectWithTls(server, { ...unpaced, pauseOf: () => pauses.shift()?.begin() });
    await only?.begun;
    connection.destroy();
    await once(encrypted, "close");
    only?.end();
  });
});

/** A pause that the test ends. */
function pause() {
  let begin: () => void = () => undefined;
  let end: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    begun,
    end: () => end(),
    begin() {
      begin();
      return ended;
    },
  };
}

function connectWithTls(server: Server, pace: Pace) {
  const connection = new BoundedConnection(connectTo(server), { tenantId: "acme", pace });
  const encrypted = connectTls({ socket: connection, ca: firstCertificate.cert, servername: "localhost" });
  encrypted.on("error", () => undefined);
  return { connection, encrypted };
}

function tlsServer(greet: (socket: TLSSocket) => void, cert: string = firstCertificate.cert): Promise<Server> {
  const server = createTlsServer({ key: firstCertificate.key, cert }, (socket) => {
    socket.on("error", () => undefined);
    greet(socket);
  });
  return listening(server);
}

async function listening(server: Server): Promise<Server> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    socket.on("error", () => undefined);
    sockets.add(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, "close");
  });
  return server;
}

function connectTo(server: Server): Socket {
  return connect((server.address() as AddressInfo).port, "127.0.0.1"); // of a server that listens on TCP
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}
