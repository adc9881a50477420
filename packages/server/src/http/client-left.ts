/** Notices clients that go before their response. */
import type { FastifyReply } from "fastify";
import { AppError } from "../platform/app-error.ts";

/** A signal that is aborted when the client has gone. */
export function leftSignal({ raw, request }: FastifyReply): AbortSignal {
  const left = new AbortController();
  const abort = () => left.abort(new AppError("request_timeout"));
  // A client that went while its body was processed is not reported again.
  if (request.observed) raw.once("close", abort);
  else abort();
  return left.signal;
}
