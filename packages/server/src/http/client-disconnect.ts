/** Detects clients that disconnect before they receive the response. */
import type { FastifyReply } from "fastify";
import { AppError } from "../platform/app-error.ts";

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
