/** Whether, and after how long, a request is sent again. */
import { ForeignAnswerError, GatehouseError, NoAnswerError } from "./errors.ts";

/** Before the second attempt, at most; doubled for each one after. In milliseconds. */
const firstBackoffMs = 200;

/** Between two attempts at most, where the answer does not say how long. In milliseconds. */
const longestBackoffMs = 5_000;

/** Answers that ask to come again, or that a proxy gives while Gatehouse starts anew. */
const passingStatuses: readonly number[] = [429, 502, 503, 504];

/**
 * Whether sending the request twice does no more than sending it once (RFC 9110, section 9.2.2; for POST, the
 * contract's Idempotency-Key). A PATCH may be relative to what it changes.
 */
export function isRepeatable(method: string, idempotencyKey: string | undefined): boolean {
  return ["GET", "PUT", "DELETE"].includes(method) || (method === "POST" && idempotencyKey !== undefined);
}

/**
 * @param attempt how many attempts failed before this one
 * @param longestWaitMs a Retry-After beyond it is not waited for
 * @param random between 0 and 1, so that clients that failed together do not come back together
 * @returns how long to wait before the next attempt, in milliseconds; undefined where there should be none
 */
export function retryDelayMs(
  error: unknown,
  attempt: number,
  longestWaitMs: number,
  random: number,
): number | undefined {
  const backoffMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** attempt) * random;
  // Who waited for as long as was allowed is told, rather than made to wait as long again.
  if (error instanceof NoAnswerError) return error.timedOut ? undefined : backoffMs;
  if (!(error instanceof GatehouseError || error instanceof ForeignAnswerError)) return undefined;
  if (!passingStatuses.includes(error.status)) return undefined;
  if (error.retryAfterSeconds === undefined) return backoffMs;
  const askedMs = error.retryAfterSeconds * 1_000;
  return askedMs > longestWaitMs ? undefined : askedMs + backoffMs;
}

/**
 * Reads Retry-After (RFC 9110, section 10.2.3): seconds, or a date.
 *
 * @param now in milliseconds since 1970
 * @returns undefined where it is neither
 */
export function retryAfterSeconds(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000));
}
