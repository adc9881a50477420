/** The errors of calls. None of them contains the API key, the request or the response. */
import type { components } from "./generated/api.ts";

/** The body of an API error (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

/** Every code that this version knows. A newer server can return others. */
export type ErrorCode = Problem["code"];

/**
 * An error response of the API. The message contains the title and the detail; programs distinguish errors by `code`.
 */
export class GatehouseError extends Error {
  readonly problem: Problem;
  readonly code: ErrorCode;
  readonly status: number;
  /** Invalid fields, each with a message. */
  readonly errors: NonNullable<Problem["errors"]>;
  /** Identifies the request in the server's log. */
  readonly requestId: string;
  /** Seconds to wait before a retry; undefined if the response does not have Retry-After. */
  readonly retryAfterSeconds: number | undefined;

  constructor(problem: Problem, retryAfterSeconds?: number) {
    super(`${problem.title} (${problem.status}). ${problem.detail}`);
    this.name = "GatehouseError";
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.errors = problem.errors ?? [];
    this.requestId = problem.requestId;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** There was no complete response. It is unknown whether a write was performed. */
export class NoResponseError extends Error {
  /** The configured base URL. */
  readonly url: string;
  /** The reason, such as `connect ECONNREFUSED 127.0.0.1:8080`. */
  readonly reason: string;
  readonly timedOut: boolean;

  constructor(url: string, reason: string, timedOut: boolean) {
    super(`No response from Gatehouse at ${url}: ${reason}.`);
    this.name = "NoResponseError";
    this.url = url;
    this.reason = reason;
    this.timedOut = timedOut;
  }
}

/** A response that does not come from Gatehouse, but from a proxy or another program. */
export class UnexpectedResponseError extends Error {
  readonly url: string;
  /** The status; 0 if the browser hides it, as for redirects. */
  readonly status: number;
  /** The difference from a Gatehouse response, such as `not JSON`. */
  readonly found: string;
  /** The base URL that a redirect points to. Redirects are not followed, because the key would be sent along. */
  readonly redirectsTo: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    url: string,
    status: number,
    found: string,
    more: { readonly redirectsTo?: string | undefined; readonly retryAfterSeconds?: number | undefined } = {},
  ) {
    super(`The server at ${url} is not Gatehouse: status ${status}, ${found}.`);
    this.name = "UnexpectedResponseError";
    this.url = url;
    this.status = status;
    this.found = found;
    this.redirectsTo = more.redirectsTo;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
