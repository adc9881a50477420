/** Turns whatever went wrong into problem+json (RFC 9457). The one place that does. */
import { type ErrorCode, errorDefinitions, problemType } from "@gatehouse/contract/errors";
import type { Problem } from "@gatehouse/contract/problem";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { databaseUnavailable, isDatabaseUnavailable } from "../platform/db/database-errors.ts";

export const problemMediaType = "application/problem+json";

/** What Fastify's own errors mean here. */
const frameworkErrors: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "payload_too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "invalid_json",
  FST_ERR_BAD_URL: "invalid_parameter",
};

function asAppError(error: unknown, request: FastifyRequest): AppError {
  if (error instanceof AppError) return error;
  // The client went away, or was cut off, in the middle of its request: nobody reads the answer, and nobody is to blame.
  if (request.raw.destroyed && !request.raw.complete) return new AppError("request_timeout", { cause: error });
  if (isDatabaseUnavailable(error)) return databaseUnavailable(error);
  const { code, message } = error as Partial<FastifyError>; // an unknown object: both are checked below
  const known = typeof code === "string" ? frameworkErrors[code] : undefined;
  if (known === undefined) return new AppError("internal_error", { cause: error });
  const detail = known === "invalid_json" || known === "invalid_parameter" ? message : undefined;
  return new AppError(known, { cause: error, ...(detail === undefined ? {} : { detail }) });
}

/** The body of an error. */
export function problemOf(error: AppError, instance: string, requestId: string): Problem {
  const { status, title } = errorDefinitions[error.code];
  return {
    type: problemType(error.code),
    title,
    status,
    detail: error.detail,
    instance,
    code: error.code,
    requestId,
    ...(error.errors === undefined ? {} : { errors: [...error.errors] }),
  };
}

/** Answers with an error, and logs the ones that are ours. */
export function replyWithProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = asAppError(error, request);
  request.problemCode = problem.code;
  if (problem.status >= 500) {
    const level = problem.status === 503 ? "warn" : "error";
    request.log[level]({ err: problem.cause ?? problem }, problem.code);
  }
  if (problem.status === 401) {
    const challenge =
      problem.code === "invalid_gateway_token" || problem.code === "invalid_device_token"
        ? 'Bearer realm="gatehouse"'
        : 'ApiKey realm="gatehouse", header="apikey"';
    reply.header("WWW-Authenticate", challenge);
  }
  if (problem.retryAfterSeconds !== undefined) reply.header("Retry-After", String(problem.retryAfterSeconds));
  // Query strings may hold what somebody searched for; the path says where it went wrong.
  const path = request.url.split("?", 1)[0] ?? "/";
  return reply
    .status(problem.status)
    .header("Content-Type", problemMediaType)
    .send(JSON.stringify(problemOf(problem, path.slice(0, 2_000), request.id)));
}
