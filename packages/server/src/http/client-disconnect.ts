/** Detects clients that disconnect before they receive the response. */
import type { FastifyReply } from "fastify";
import { AppError } from "../platform/app-error.ts";

/**
 * Calls a function when the response is complete, or the client has disconnected.
 *
 * @param callback may be called twice
 */
export function onceClosed({ raw, request }: FastifyReply, callback: () => void): void {
  // If the client disconnected earlier, for example during its authentication, no further event reports it.
  if (!request.observed) {
    callback();
    return;
  }
  raw.once("close", callback);
  // Only the request reports a disconnect while the response waits for responses to earlier pipelined requests.
  request.raw.once("aborted", callback);
}

/** A signal that is aborted when the client disconnects. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const disconnected = new AbortController();
  onceClosed(reply, () => disconnected.abort(new AppError("request_timeout")));
  return disconnected.signal;
}
