/** Detects clients that disconnect before they receive the response. */
import type { FastifyReply } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** A signal that is aborted when the client disconnects. */
export function disconnectSignal({ raw, request }: FastifyReply): AbortSignal {
  const disconnected = new AbortController();
  const abort = () => disconnected.abort(new AppError("request_timeout"));
  // If the client disconnected earlier, for example while its body was processed, no further event reports it.
  if (request.observed) raw.once("close", abort);
  else abort();
  return disconnected.signal;
}
