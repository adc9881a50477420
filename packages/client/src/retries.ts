/** Decides whether and when to retry a request. */
import { GatehouseError, NoResponseError, UnexpectedResponseError } from "./errors.ts";

/** The maximum wait before the first retry, doubled for each further retry. In milliseconds. */
const firstBackoffMs = 200;

/** The maximum wait between two attempts without Retry-After, in milliseconds. */
const maxBackoffMs = 5_000;

/** Statuses that ask for a retry, or that a proxy returns while Gatehouse restarts. */
const transientStatuses: readonly number[] = [429, 502, 503, 504];

/**
 * Whether sending the request twice has the same effect as sending it once (RFC 9110, section 9.2.2; for POST, the
 * API's Idempotency-Key). A PATCH can depend on the current value.
 */
export function isRepeatable(method: string, idempotencyKey: string | undefined): boolean {
  return ["GET", "PUT", "DELETE"].includes(method) || (method === "POST" && idempotencyKey !== undefined);
}

/**
 * Returns how long to wait before the next attempt, in milliseconds; undefined for no further attempt.
 *
 * @param attempt number of previous retries
 * @param maxRetryAfterMs the longest Retry-After to wait for
 * @param random between 0 and 1; spreads the retries of clients that failed together
 */
export function retryDelayMs(
  error: unknown,
  attempt: number,
  maxRetryAfterMs: number,
  random: number,
): number | undefined {
  const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** attempt) * random;
  // A timeout has already used up the time that the caller allows.
  if (error instanceof NoResponseError) return error.timedOut ? undefined : backoffMs;
  if (!(error instanceof GatehouseError || error instanceof UnexpectedResponseError)) return undefined;
  if (!transientStatuses.includes(error.status)) return undefined;
  if (error.retryAfterSeconds === undefined) return backoffMs;
  const askedMs = error.retryAfterSeconds * 1_000;
  return askedMs > maxRetryAfterMs ? undefined : askedMs + backoffMs;
}

/**
 * Parses Retry-After (RFC 9110, section 10.2.3): seconds or a date.
 *
 * @param now in milliseconds since 1970
 * @returns undefined for any other value
 */
export function retryAfterSeconds(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000));
}
