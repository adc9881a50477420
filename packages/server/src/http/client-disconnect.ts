/** Detects clients that disconnect before they receive the response. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** The responses that wait for the responses to earlier pipelined requests. */
const waitingResponses = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Makes a response emit "close" when the client disconnects, even while it waits for the responses to earlier pipelined
 * requests. For such a response, Node.js reports nothing. It reports an aborted request only if its body was not read.
 */
export function closeWithConnection({ raw: response, request }: FastifyReply): void {
  const { socket, httpVersionMajor } = request.raw;
  if (httpVersionMajor !== 1 || response.socket !== null) return;
  const waiting = waitingResponses.get(socket) ?? watch(socket);
  waiting.add(response);
  response.once("close", () => waiting.delete(response));
}

/** Adds one listener for all responses of a connection, because Node.js warns of more than ten. */
function watch(socket: Socket): Set<ServerResponse> {
  const waiting = new Set<ServerResponse>();
  waitingResponses.set(socket, waiting);
  socket.once("close", () => {
    for (const response of waiting) if (response.socket === null) response.emit("close");
  });
  return waiting;
}

/** Calls a function when the response is complete, or the client has disconnected. */
export function onceClosed({ raw, request }: FastifyReply, callback: () => void): void {
  // If the client disconnected earlier, for example during its authentication, no further event reports it.
  if (request.observed) raw.once("close", callback);
  else callback();
}

/** A signal that is aborted when the client disconnects. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const disconnected = new AbortController();
  onceClosed(reply, () => disconnected.abort(new AppError("request_timeout")));
  return disconnected.signal;
}
