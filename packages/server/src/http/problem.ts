/** Converts errors to problem+json (RFC 9457). No other module does. */
import { type ErrorCode, errorDefinitions, problemType } from "@gatehouse/contract/errors";
import { refusesOtherMediaTypes } from "@gatehouse/contract/operation";
import type { Problem } from "@gatehouse/contract/problem";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { databaseUnavailable, isDatabaseUnavailable, isUnstorableText } from "../platform/db/database-errors.ts";

export const problemMediaType = "application/problem+json";

/** The codes of Fastify's own errors. */
const frameworkErrors: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "payload_too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "invalid_json",
  FST_ERR_BAD_URL: "invalid_parameter",
};

const unstorable = "The request contains a character that cannot be stored, such as NUL.";

function asAppError(error: unknown, request: FastifyRequest): AppError {
  if (error instanceof AppError)
    return error.code === "unsupported_media_type" ? mediaTypeError(error, request) : error;
  // The client disconnected or was disconnected during its request, so no one reads the response.
  if (request.raw.destroyed && !request.raw.complete) return new AppError("request_timeout", { cause: error });
  if (isDatabaseUnavailable(error)) return databaseUnavailable(error);
  if (isUnstorableText(error)) return new AppError("invalid_parameter", { detail: unstorable, cause: error });
  const { code, message } = error as Partial<FastifyError>; // an unknown object; both fields are checked below
  const known = typeof code === "string" ? frameworkErrors[code] : undefined;
  if (known === undefined) return new AppError("internal_error", { cause: error });
  if (known === "unsupported_media_type") return mediaTypeError(new AppError(known, { cause: error }), request);
  const detail = known === "invalid_json" || known === "invalid_parameter" ? message : undefined;
  return new AppError(known, { cause: error, ...(detail === undefined ? {} : { detail }) });
}

/** The certification of AuthZEN requires 400 for bodies of another type, where the API otherwise answers 415. */
function mediaTypeError(error: AppError, { operation }: FastifyRequest): AppError {
  if (operation === undefined || refusesOtherMediaTypes(operation)) return error;
  return new AppError("invalid_json", { cause: error, detail: error.detail });
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

/** Responds with an error, and logs server errors. */
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
        : 'ApiKey realm="gatehouse", header="apikey", Bearer realm="gatehouse"';
    reply.header("WWW-Authenticate", challenge);
  }
  if (problem.retryAfterSeconds !== undefined) reply.header("Retry-After", String(problem.retryAfterSeconds));
  if (!reply.hasHeader("Cache-Control")) reply.header("Cache-Control", "no-store");
  // The query string can contain search terms; the path identifies the request.
  const path = request.url.split("?", 1)[0] ?? "/";
  return reply
    .status(problem.status)
    .header("Content-Type", problemMediaType)
    .send(JSON.stringify(problemOf(problem, path.slice(0, 2_000), request.id)));
}
