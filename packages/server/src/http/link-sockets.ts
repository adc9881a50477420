/** The WebSockets that the agents of gateways and devices open: authentication as of a request, then frames in both directions. */
import type { IncomingMessage, Server } from "node:http";
import { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { longestPart } from "@gatehouse/agent-protocol/link/frames";
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { AppError } from "../platform/app-error.ts";
import type { LinkListener, LinkReceiver, LinkTransport } from "../platform/link-transport.ts";
import type { RateLimits } from "./rate-limits.ts";

/** One kind of link: where it is, and who serves it. */
export interface LinkSocket {
  readonly path: string;
  readonly subprotocol: string;
  /** What answers a token that is missing or not valid. */
  readonly invalidToken: ErrorCode;
  /** Completes "Agents of … open a WebSocket here". */
  readonly whose: string;
  readonly listener: LinkListener;
}

/** A frame of agents has no more characters than a part, and what is around it; each may be three bytes. */
const longestFrameBytes = 3 * longestPart + 1024;
/** Longest Authorization that is looked at. */
const longestAuthorization = 300;
/** How long a close may take until the socket is cut, in milliseconds. */
const closeMs = 5_000;

interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

export function mountLinks(app: FastifyInstance, limits: RateLimits, sockets: readonly LinkSocket[]): void {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  for (const socket of sockets) mountLink(app, limits, socket, upgrades);
  const paths = new Set(sockets.map(({ path }) => path));

  // Before Node has such requests of its own kind: all that ask for another protocol come here.
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!paths.has(request.url?.split("?", 1)[0] ?? "")) {
      serveWithout(app.server, request, socket, head);
      return;
    }
    const gone = () => socket.destroy();
    socket.on("error", gone);
    upgrades.set(request, { socket, head });
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as never); // it is a socket: what this event is told of
    response.once("finish", () => socket.end());
    app.routing(request, response);
  });
}

function mountLink(
  app: FastifyInstance,
  limits: RateLimits,
  { path, subprotocol, invalidToken, whose, listener }: LinkSocket,
  upgrades: WeakMap<IncomingMessage, Upgrade>,
): void {
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: longestFrameBytes,
    // What is sent is hashes, keys and addresses: compressing would cost memory for each of thousands, and hardly shorten it.
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  const authenticated = new WeakMap<FastifyRequest, unknown>();

  app.route({
    method: "GET",
    url: path,
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      await limits.requireFreshAddress(request, reply, undefined);
      try {
        const token = presentedToken(request);
        if (token === undefined) throw new AppError(invalidToken);
        authenticated.set(request, await listener.authenticate(token));
      } catch (error) {
        if (error instanceof AppError && error.status === 401) await limits.noteFailure(request, undefined);
        throw error;
      }
    },
    handler: (request, reply) => {
      const upgrade = upgrades.get(request.raw);
      if (upgrade === undefined || !offersProtocol(request, subprotocol)) {
        reply.header("Upgrade", "websocket");
        const detail = `Agents of ${whose} open a WebSocket here, with the subprotocol ${subprotocol}.`;
        throw new AppError("upgrade_required", { detail });
      }
      const { ip } = request;
      reply.hijack();
      reply.raw.detachSocket(upgrade.socket as never); // it is a socket: what `upgrade` was told of
      webSockets.handleUpgrade(request.raw, upgrade.socket, upgrade.head, (webSocket) => {
        reply.raw.statusCode = 101;
        reply.raw.emit("upgraded");
        serve(webSocket, (transport) => listener.open(authenticated.get(request), transport, ip));
      });
    },
  });
}

/**
 * Serves a request that offered another protocol as what it is: an offer that nobody has to take (RFC 9110, section 7.8). Node has taken the
 * connection off its server, so it is given back, with the request as it was but for the offer.
 */
function serveWithout(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { rawHeaders, method, url, httpVersion } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1] ?? ""}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

/** @returns undefined where there is none */
function presentedToken(request: FastifyRequest): string | undefined {
  const { authorization = "" } = request.headers;
  return authorization.length > longestAuthorization ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

function offersProtocol(request: FastifyRequest, subprotocol: string): boolean {
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  return offered.split(",").some((name) => name.trim() === subprotocol);
}

function serve(webSocket: WebSocket, open: (transport: LinkTransport) => LinkReceiver): void {
  const receiver = open({
    send: (text, sent) => webSocket.send(text, () => sent()),
    get bufferedBytes() {
      return webSocket.bufferedAmount;
    },
    close: (code, reason) => {
      webSocket.close(code, reason);
      // Somebody who does not read does not answer either.
      setTimeout(() => webSocket.terminate(), closeMs).unref();
    },
    terminate: () => webSocket.terminate(),
  });
  webSocket.on("message", (content, isBinary) => {
    if (isBinary) receiver.violated();
    else receiver.received(content.toString());
  });
  // Too long, not UTF-8, not framed as it should be: `ws` closes by itself.
  webSocket.on("error", () => receiver.violated());
  webSocket.on("close", () => receiver.closed());
}
