/** The server with TLS: HTTP/2, and HTTP/1.1 for clients without it and for the WebSockets of agents. */
import type { RequestListener, Server } from "node:http";
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../platform/clock.ts";
import type { ServedCertificate, TlsPair } from "../platform/served-certificate.ts";
import { tlsLimits } from "../platform/tls-limits.ts";
import { Http2Connections } from "./http2-connections.ts";
import type { RequestTurns } from "./request-turns.ts";
import { ResetLimit } from "./reset-limit.ts";

/** The most open streams of one connection. Most of them wait for their turn. */
const maxConcurrentStreams = 100;
/** The most memory of one HTTP/2 connection, in MiB. */
const maxSessionMemory = 4;
/** The time limit of a handshake, unless that of a request is shorter. */
const handshakeTimeoutMs = 10_000;

export interface TlsServerOptions {
  readonly certificate: ServedCertificate;
  readonly clock: Clock;
  /** The turns of requests over HTTP/1.1. */
  readonly turns: RequestTurns;
  readonly trustedProxies: readonly string[];
  /** The time limit for receiving a complete request, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long a connection can stay open without a request, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** How long a client of HTTP/2 can read nothing of a response, in milliseconds. */
  readonly stallMs: number;
}

/** Whether the server terminates TLS. */
export function terminatesTls(server: Server): boolean {
  return "setSecureContext" in server;
}

/** Replaces the certificate of later connections. */
export function replaceCertificate(server: Server, pair: TlsPair): void {
  // A server of createTlsServer, whose type Fastify does not know.
  (server as unknown as Http2SecureServer).setSecureContext({ ...pair, ...tlsLimits });
}

/** The protocol in which certificate authorities check a proof (RFC 8737). */
const proofProtocol = "acme-tls/1";

/** @returns a server with the methods of an HTTP/1.1 server that Fastify and `main.ts` call */
export function createTlsServer(handler: RequestListener, options: TlsServerOptions): Server {
  const { certificate, turns, requestTimeoutMs, idleTimeoutMs } = options;
  const resets = new ResetLimit(options);
  const connections = new Http2Connections(options);
  const server = createSecureServer({
    ...certificate.pair,
    ...tlsLimits,
    allowHTTP1: true,
    // A method, because Node passes the connection as `this`.
    ALPNCallback(this: TLSSocket, { servername, protocols }) {
      const proof = protocols.includes(proofProtocol) ? certificate.challengePair?.(servername) : undefined;
      if (proof !== undefined) {
        this.setKeyCert(proof);
        return proofProtocol;
      }
      if (protocols.includes("h2") && resets.allowsHttp2(this.remoteAddress) && connections.admit(this)) return "h2";
      return protocols.includes("http/1.1") ? "http/1.1" : undefined;
    },
    handshakeTimeout: Math.min(handshakeTimeoutMs, requestTimeoutMs),
    maxSessionMemory,
    settings: { maxConcurrentStreams, enablePush: false },
  });
  // Fastify's handler accepts requests of both protocols; its type names only those of HTTP/1.1.
  const serve = handler as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void;
  const serveInTurn = turns.inTurn(handler) as unknown as typeof serve;
  const withBodies = new WeakSet<ServerHttp2Stream>();
  server.on("request", (request, response) => {
    if (request.httpVersionMajor === 1) {
      serveInTurn(request, response);
      return;
    }
    const { stream } = response;
    if (!connections.serves(stream)) return;
    connections.inTurn(stream, () => {
      if (withBodies.has(stream)) limitBody(stream, requestTimeoutMs);
      serve(request, response);
    });
  });
  // Node.js emits "session" in the same turn, and hides the socket of a session.
  let latest: TLSSocket;
  server.prependListener("secureConnection", (socket) => {
    latest = socket;
  });
  server.once("close", connections.start());
  server.on("session", (session) => {
    connections.add(session, latest);
    resets.watch(session);
    // Streams that wait, such as live events, are not idle.
    session.setTimeout(idleTimeoutMs, () => session.close());
    // Without a listener, an error of one client would end the process.
    session.on("error", () => session.destroy());
  });
  // Before Node.js emits "request" for the stream.
  server.prependListener("stream", (stream, _headers, flags) => {
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) === 0) withBodies.add(stream);
  });
  // The handshake is the whole proof.
  server.on("unknownProtocol", (socket: TLSSocket) => socket.destroy());
  // The response to invalid requests would wait for a handshake that never ends, and keep the socket open.
  server.prependListener("tlsClientError", (_error, socket) => socket.destroy());
  // The connections below TLS, because a handshake may not be complete.
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return Object.assign(server, {
    // Limits of HTTP/1.1 connections.
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: idleTimeoutMs,
    closeHttp2Sessions() {
      connections.close();
    },
    closeAllConnections() {
      for (const socket of sockets) socket.destroy();
    },
  }) as unknown as Server; // with the methods above, it has those that are called
}

/** Closes a stream whose body is not received in time. */
function limitBody(stream: ServerHttp2Stream, requestTimeoutMs: number): void {
  if (stream.readableEnded) return;
  const late = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), requestTimeoutMs);
  stream.once("end", () => clearTimeout(late)).once("close", () => clearTimeout(late));
}

/** Returns a connection to its server, with the bytes that were pushed back. */
export function serveConnection(server: Server, socket: Duplex): void {
  server.emit(terminatesTls(server) ? "secureConnection" : "connection", socket);
}
