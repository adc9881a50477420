/** Detects clients that disconnect before they receive the response. */
import type { FastifyReply } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** A signal that is aborted when the client disconnects. */
export function leftSignal({ raw, request }: FastifyReply): AbortSignal {
  const left = new AbortController();
  const abort = () => left.abort(new AppError("request_timeout"));
  // If the client disconnected earlier, for example while its body was processed, no further event reports it.
  if (request.observed) raw.once("close", abort);
  else abort();
  return left.signal;
}
