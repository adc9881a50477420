/** The WebSockets of gateway and device agents: authenticated like requests, then frames in both directions. */
import type { IncomingMessage, Server } from "node:http";
import { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { longestPart } from "@gatehouse/agent-protocol/link/frames";
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { AppError } from "../platform/app-error.ts";
import type { LinkListener, LinkReceiver, LinkTransport } from "../platform/link-transport.ts";
import { clientAddress } from "./client-address.ts";
import type { RateLimits } from "./rate-limits.ts";
import type { RequestTurns } from "./request-turns.ts";
import { serveConnection } from "./tls-server.ts";

/** A kind of link with its path and its listener. */
export interface LinkSocket {
  readonly path: string;
  /** The subprotocols that are offered, the preferred one first. */
  readonly subprotocols: readonly string[];
  /** The error for a missing or invalid token. */
  readonly invalidToken: ErrorCode;
  /** The kind of agent in messages, such as "gateways". */
  readonly whose: string;
  readonly listener: LinkListener;
}

/** The longest frame of an agent: one part and its envelope, with up to three bytes per character. */
const maxFrameBytes = 3 * longestPart + 1024;
/** The most data that a connection may send before it is admitted, in bytes: 64 KiB. */
const maxBytesBeforeHello = 64 * 1024;
/** Longer Authorization headers are rejected unread. */
const maxAuthorizationLength = 300;
/** The time limit of a close before the socket is destroyed, in milliseconds. */
const closeMs = 5_000;

interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

export function mountLinks(
  app: FastifyInstance,
  limits: RateLimits,
  sockets: readonly LinkSocket[],
  turns: RequestTurns,
): void {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  for (const socket of sockets) mountLink(app, limits, socket, upgrades);
  const paths = new Set(sockets.map(({ path }) => path));

  // Handles all requests that ask for another protocol, before Node handles them itself.
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const previous = turns.release(socket);
    // A response that was written at once has no event "finish" yet, and is still attached to the connection.
    if (previous === undefined || (previous.writableFinished && previous.socket === null)) {
      handleUpgrade(request, socket, head);
      return;
    }
    // A pipelined request waits until the requests before it are answered, because responses keep their order.
    const gone = () => socket.destroy();
    socket.on("error", gone);
    previous.once("finish", () => {
      socket.off("error", gone);
      // Node still has to detach the finished response from the connection.
      setImmediate(() => {
        if (!socket.destroyed) handleUpgrade(request, socket, head);
      });
    });
  });

  const handleUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!paths.has(request.url?.split("?", 1)[0] ?? "")) {
      serveWithoutUpgrade(app.server, request, socket, head);
      return;
    }
    const gone = () => socket.destroy();
    socket.on("error", gone);
    upgrades.set(request, { socket, head });
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as never); // this event's stream is a socket
    response.once("finish", () => socket.end());
    app.routing(request, response);
  };
}

function mountLink(
  app: FastifyInstance,
  limits: RateLimits,
  { path, subprotocols, invalidToken, whose, listener }: LinkSocket,
  upgrades: WeakMap<IncomingMessage, Upgrade>,
): void {
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxFrameBytes,
    // Hashes, keys and addresses hardly compress, and compression costs memory for each of thousands of links.
    perMessageDeflate: false,
    handleProtocols: (offered) => subprotocols.find((name) => offered.has(name)) ?? false,
  });
  const authenticated = new WeakMap<FastifyRequest, unknown>();

  app.route({
    method: "GET",
    url: path,
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      try {
        const token = presentedToken(request);
        if (token === undefined) throw new AppError(invalidToken);
        // Tokens are compared before the address is judged: failures of others behind the address must not lock out an
        // agent with a valid token. A token has 256 random bits, so the comparison reveals nothing to a guesser.
        authenticated.set(request, await listener.authenticate(token));
      } catch (error) {
        if (error instanceof AppError && error.status === 401) {
          limits.requireUnblockedAddress(request, reply, undefined);
          limits.countFailure(request, undefined);
        }
        throw error;
      }
    },
    handler: (request, reply) => {
      const upgrade = upgrades.get(request.raw);
      if (upgrade === undefined || !offersProtocol(request, subprotocols)) {
        reply.header("Upgrade", "websocket");
        const detail = `Agents of ${whose} open a WebSocket here, with the subprotocol ${subprotocols[0]}.`;
        throw new AppError("upgrade_required", { detail });
      }
      const address = clientAddress(request);
      reply.hijack();
      reply.raw.detachSocket(upgrade.socket as never); // the stream of `upgrade` is a socket
      webSockets.handleUpgrade(request.raw, upgrade.socket, upgrade.head, (webSocket) => {
        reply.raw.statusCode = 101;
        reply.raw.emit("upgraded");
        const presented = authenticated.get(request);
        const receiver = serve(webSocket, (transport) =>
          listener.open(presented, transport, address, webSocket.protocol),
        );
        limitBeforeHello(upgrade.socket, receiver, webSocket);
      });
    },
  });
}

/**
 * Serves a request whose protocol offer is not accepted as an ordinary request (RFC 9110, section 7.8). Node has
 * detached the connection from its server, so the connection is returned with the request without its offer.
 */
function serveWithoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { rawHeaders, method, url, httpVersion } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1] ?? ""}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  serveConnection(server, socket);
}

/** The bearer token of the request, or undefined. */
function presentedToken(request: FastifyRequest): string | undefined {
  const { authorization = "" } = request.headers;
  return authorization.length > maxAuthorizationLength ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

function offersProtocol(request: FastifyRequest, subprotocols: readonly string[]): boolean {
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  return offered.split(",").some((name) => subprotocols.includes(name.trim()));
}

/** Disconnects an agent that sends too much without a hello. Its frames are held in memory until they are complete. */
function limitBeforeHello(socket: Duplex, receiver: LinkReceiver, webSocket: WebSocket): void {
  let received = 0;
  const count = (chunk: Buffer) => {
    if (!receiver.isPending) {
      socket.off("data", count);
      return;
    }
    received += chunk.length;
    if (received <= maxBytesBeforeHello) return;
    socket.off("data", count);
    webSocket.terminate();
  };
  socket.on("data", count);
}

function serve(webSocket: WebSocket, open: (transport: LinkTransport) => LinkReceiver): LinkReceiver {
  const receiver = open({
    send: (text, sent) => webSocket.send(text, () => sent()),
    get bufferedBytes() {
      return webSocket.bufferedAmount;
    },
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
    close: (code, reason) => {
      webSocket.close(code, reason);
      // An unresponsive peer does not complete the close.
      setTimeout(() => webSocket.terminate(), closeMs).unref();
    },
    terminate: () => webSocket.terminate(),
  });
  webSocket.on("message", (content, isBinary) => {
    if (isBinary) receiver.violated();
    else receiver.received(content.toString());
  });
  // `ws` closes by itself after a frame that is too long, not UTF-8 or malformed.
  webSocket.on("error", () => receiver.violated());
  webSocket.on("close", () => receiver.closed());
  return receiver;
}
