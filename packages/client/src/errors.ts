/** What a call can fail with. None of these holds the key, nor the request or the answer that could. */
import type { components } from "./generated/api.ts";

/** The body of an error of Gatehouse (RFC 9457). */
export type Problem = components["schemas"]["Problem"];

/** Every code that this version knows. A newer Gatehouse may answer with others. */
export type ErrorCode = Problem["code"];

/** Gatehouse says no. The message has its title and detail; `code` is what a program tells cases apart by. */
export class GatehouseError extends Error {
  readonly problem: Problem;
  readonly code: ErrorCode;
  readonly status: number;
  /** The fields that are wrong, each with what is wrong with it. */
  readonly errors: NonNullable<Problem["errors"]>;
  /** Finds the request in the server's log. */
  readonly requestId: string;
  /** After how long trying again makes sense; undefined where the answer does not say. */
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

/** No answer, or not a whole one. Of a write it is not known whether it was done. */
export class NoAnswerError extends Error {
  /** The address that was called, as it was configured. */
  readonly url: string;
  /** In words, such as `connect ECONNREFUSED 127.0.0.1:8080`. */
  readonly reason: string;
  readonly timedOut: boolean;

  constructor(url: string, reason: string, timedOut: boolean) {
    super(`No Gatehouse answers at ${url}: ${reason}.`);
    this.name = "NoAnswerError";
    this.url = url;
    this.reason = reason;
    this.timedOut = timedOut;
  }
}

/** An answer that is not Gatehouse's: from a proxy, or from another program. */
export class ForeignAnswerError extends Error {
  readonly url: string;
  /** 0 where a browser hides it, as it does of redirects. */
  readonly status: number;
  /** What the answer is instead, such as `not JSON`. */
  readonly found: string;
  /** Where a redirect points: an address to configure instead. Redirects are not followed, for the key would go with them. */
  readonly redirectsTo: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    url: string,
    status: number,
    found: string,
    more: { readonly redirectsTo?: string | undefined; readonly retryAfterSeconds?: number | undefined } = {},
  ) {
    super(`What answers at ${url} is no Gatehouse: status ${status}, and ${found}.`);
    this.name = "ForeignAnswerError";
    this.url = url;
    this.status = status;
    this.found = found;
    this.redirectsTo = more.redirectsTo;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
