/** The WebSocket that gateways' agents open: authentication as of a request, then frames in both directions. */
import type { IncomingMessage, Server } from "node:http";
import { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { gatewayLinkPath, gatewayLinkSubprotocol, longestPart } from "@gatehouse/contract/gateway-link/frames";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type WebSocket, WebSocketServer } from "ws";
import { AppError } from "../platform/app-error.ts";
import type { RateLimits } from "./rate-limits.ts";

/** What takes links, whatever it does with them. `Gateway` says whose link it is. */
export interface LinkListener<Gateway = unknown> {
  /** @throws AppError invalid_gateway_token, too_many_links, database_unavailable */
  authenticate(token: string): Promise<Gateway>;
  open(gateway: Gateway, transport: LinkTransport): LinkReceiver;
}

interface LinkTransport {
  send(text: string, sent: () => void): void;
  readonly bufferedBytes: number;
  close(code: number, reason: string): void;
  terminate(): void;
}

interface LinkReceiver {
  received(text: string): void;
  violated(): void;
  closed(): void;
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

export function mountGatewayLink(app: FastifyInstance, limits: RateLimits, listener: LinkListener): void {
  const upgrades = new WeakMap<IncomingMessage, Upgrade>();
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: longestFrameBytes,
    // What is sent is hashes, keys and addresses: compressing would cost memory for each of thousands, and hardly shorten it.
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(gatewayLinkSubprotocol) ? gatewayLinkSubprotocol : false),
  });
  const authenticated = new WeakMap<FastifyRequest, unknown>();

  app.route({
    method: "GET",
    url: gatewayLinkPath,
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      await limits.requireFreshAddress(request, reply, undefined);
      try {
        authenticated.set(request, await listener.authenticate(presentedToken(request)));
      } catch (error) {
        if (error instanceof AppError && error.status === 401) await limits.noteFailure(request, undefined);
        throw error;
      }
    },
    handler: (request, reply) => {
      const upgrade = upgrades.get(request.raw);
      if (upgrade === undefined || !offersProtocol(request)) throw upgradeRequired(reply);
      reply.hijack();
      reply.raw.detachSocket(upgrade.socket as never); // it is a socket: what `upgrade` was told of
      webSockets.handleUpgrade(request.raw, upgrade.socket, upgrade.head, (webSocket) => {
        reply.raw.statusCode = 101;
        reply.raw.emit("upgraded");
        link(webSocket, authenticated.get(request), listener);
      });
    },
  });

  // Before Node has such requests of its own kind: all that ask for another protocol come here.
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (request.url?.split("?", 1)[0] !== gatewayLinkPath) return serveWithout(app.server, request, socket, head);
    const gone = () => socket.destroy();
    socket.on("error", gone);
    upgrades.set(request, { socket, head });
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as never); // as above
    response.once("finish", () => socket.end());
    app.routing(request, response);
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

/** @throws AppError invalid_gateway_token */
function presentedToken(request: FastifyRequest): string {
  const { authorization = "" } = request.headers;
  const token = authorization.length > longestAuthorization ? undefined : /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (token === undefined) throw new AppError("invalid_gateway_token");
  return token;
}

function offersProtocol(request: FastifyRequest): boolean {
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  return offered.split(",").some((name) => name.trim() === gatewayLinkSubprotocol);
}

function upgradeRequired(reply: FastifyReply): AppError {
  reply.header("Upgrade", "websocket");
  return new AppError("upgrade_required", {
    detail: `Agents of gateways open a WebSocket here, with the subprotocol ${gatewayLinkSubprotocol}.`,
  });
}

function link(webSocket: WebSocket, gateway: unknown, listener: LinkListener): void {
  const receiver = listener.open(gateway, {
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
