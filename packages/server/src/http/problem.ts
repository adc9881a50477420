/** Converts errors to problem+json (RFC 9457). No other module does. */
import { type ErrorCode, errorDefinitions, problemType } from "@gatehouse/contract/errors";
import { type Operation, refusesOtherMediaTypes } from "@gatehouse/contract/operation";
import type { Problem } from "@gatehouse/contract/problem";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../platform/app-error.ts";
import { recentSeconds } from "../platform/authorization/recent-authentication.ts";
import { databaseUnavailable, isDatabaseUnavailable, isUnstorableText } from "../platform/db/database-errors.ts";

export const problemMediaType = "application/problem+json";

/** The codes of Fastify's own errors. */
const frameworkErrors: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "payload_too_large",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "unsupported_media_type",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "invalid_json",
  FST_ERR_BAD_URL: "invalid_parameter",
};

/** The statuses with which the plugin of static files refuses a request. */
const staticFileErrors: Readonly<Record<number, ErrorCode>> = {
  400: "no_such_operation",
  403: "no_such_operation",
  404: "no_such_operation",
  412: "precondition_failed",
  416: "invalid_parameter",
};

const unstorable = "The request contains a character that cannot be stored, such as NUL.";

function asAppError(error: unknown, request: FastifyRequest): AppError {
  if (error instanceof AppError)
    return error.code === "unsupported_media_type" ? mediaTypeError(error, request) : error;
  if (isOfDisconnect(error, request)) return new AppError("request_timeout", { cause: error });
  if (isDatabaseUnavailable(error)) return databaseUnavailable(error);
  if (isUnstorableText(error)) return new AppError("invalid_parameter", { detail: unstorable, cause: error });
  const { code, message, statusCode } = error as Partial<FastifyError>; // an unknown object; checked below
  const known =
    typeof code === "string"
      ? frameworkErrors[code]
      : request.operation === undefined && typeof statusCode === "number"
        ? staticFileErrors[statusCode]
        : undefined;
  if (known === undefined) return new AppError("internal_error", { cause: error });
  if (known === "unsupported_media_type") return mediaTypeError(new AppError(known, { cause: error }), request);
  const detail =
    known === "payload_too_large"
      ? tooLargeText(request.operation)
      : known === "invalid_json" || known === "invalid_parameter"
        ? message
        : undefined;
  return new AppError(known, { cause: error, ...(detail === undefined ? {} : { detail }) });
}

/**
 * Whether the client disconnected or was disconnected, so that nobody reads the response: during its request, or before
 * a response whose content was then closed.
 */
function isOfDisconnect(error: unknown, { raw, observed }: FastifyRequest): boolean {
  if (raw.destroyed && !raw.complete) return true;
  return !observed && error instanceof Error && "code" in error && error.code === "ERR_STREAM_PREMATURE_CLOSE";
}

/** Names the limit of the operation, unless it is the common one, which the explanation of the error names. */
function tooLargeText(operation: Operation | undefined): string | undefined {
  if (operation?.bodyLimitBytes === undefined) return undefined;
  return `The body of ${operation.id} can have at most ${operation.bodyLimitBytes / 1_048_576} MiB.`;
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

/** The value of `WWW-Authenticate` (RFC 9110, section 11.6.1). */
function challengeOf({ code }: AppError): string {
  if (code === "invalid_gateway_token" || code === "invalid_device_token") return 'Bearer realm="gatehouse"';
  if (code === "recent_authentication_required") {
    // RFC 9470, section 3.
    return `Bearer realm="gatehouse", error="insufficient_user_authentication", error_description="A more recent authentication is required", max_age="${recentSeconds}"`;
  }
  return 'ApiKey realm="gatehouse", header="apikey", Bearer realm="gatehouse"';
}

/** Responds with an error, and logs server errors. */
export function replyWithProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const problem = asAppError(error, request);
  request.problemCode = problem.code;
  if (problem.status >= 500) {
    const level = problem.status === 503 ? "warn" : "error";
    request.log[level]({ requestId: request.id, err: problem.cause ?? problem }, problem.code);
  }
  if (problem.status === 401) reply.header("WWW-Authenticate", challengeOf(problem));
  if (problem.retryAfterSeconds !== undefined) reply.header("Retry-After", String(problem.retryAfterSeconds));
  if (!reply.hasHeader("Cache-Control")) reply.header("Cache-Control", "no-store");
  // The query string can contain search terms; the path identifies the request.
  const path = request.url.split("?", 1)[0] ?? "/";
  return reply
    .status(problem.status)
    .header("Content-Type", problemMediaType)
    .send(JSON.stringify(problemOf(problem, path.slice(0, 2_000), request.id)));
}
