/** The schedule of retries for a message, until it is given up. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** The maximum delays after each failed attempt, in milliseconds. Together they last about a day. */
export const retryDelaysMs: readonly number[] = [
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
  8 * hourMs,
];

/**
 * The maximum delay after the first attempt for which the server had no space, and after many in a row, in
 * milliseconds.
 */
const postponementsMs = { first: 30 * secondMs, longest: 10 * minuteMs } as const;

/** The longest time between two attempts, in milliseconds. */
export const longestDelayMs = Math.max(...retryDelaysMs);

/** The random share of a delay, so that messages that failed together are not retried together. */
const jitter = 0.2;

/** The longest pause that a receiver may request, in milliseconds. */
export const longestRetryAfterMs = hourMs;

/**
 * @param failures the number of failed attempts, including the latest: 1 or more
 *
 * @param retryAfterMs the pause that the receiver requested, in milliseconds; undefined for none
 * @param random from 0 to below 1
 * @returns the time until the next attempt, in milliseconds; undefined if the message is given up
 */
export function retryDelayMs(failures: number, retryAfterMs: number | undefined, random: number): number | undefined {
  const longest = retryDelaysMs[failures - 1];
  if (longest === undefined) return undefined;
  const delay = Math.round(longest * (1 - jitter * random));
  return Math.max(delay, Math.min(retryAfterMs ?? 0, longestRetryAfterMs));
}

/**
 * @param previousMs the delay after the previous attempt if the server had no space for that one either; else 0
 * @param random from 0 to below 1
 * @returns the time until the next attempt after one for which the server had no space, in milliseconds
 */
export function postponementMs(previousMs: number, random: number): number {
  const { first, longest } = postponementsMs;
  return Math.round(Math.min(longest, Math.max(first, 2 * previousMs)) * (1 - jitter * random));
}

/** Statuses that use Retry-After (RFC 9110, section 10.2.3; RFC 6585, section 4). */
const statusesWithRetryAfter = new Set([429, 503]);

/**
 * Parses Retry-After: seconds, or a date.
 *
 * @returns milliseconds from now, 0 for a time in the past; undefined if it is missing or invalid, or the status does
 * not use it
 */
export function retryAfterMs(statusCode: number, header: string | undefined, now: Date): number | undefined {
  if (header === undefined || !statusesWithRetryAfter.has(statusCode)) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  if (text.length > 40 || !/^[A-Z][a-z]{2},? /.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now.getTime());
}

export type Verdict =
  | { readonly kind: "delivered" }
  /** Retry after this time, in milliseconds. */
  | { readonly kind: "again"; readonly delayMs: number }
  | { readonly kind: "given-up" }
  /** The receiver refuses all further messages. */
  | { readonly kind: "gone" };

/** The consequence of an attempt for the message. `statusCode` is undefined if there was no response. */
export function judge(
  attempt: { readonly statusCode: number | undefined; readonly retryAfter: string | undefined },
  failuresBefore: number,
  now: Date,
  random: number,
): Verdict {
  const { statusCode, retryAfter } = attempt;
  if (statusCode !== undefined && statusCode >= 200 && statusCode < 300) return { kind: "delivered" };
  if (statusCode === 410) return { kind: "gone" };
  const asked = statusCode === undefined ? undefined : retryAfterMs(statusCode, retryAfter, now);
  const delayMs = retryDelayMs(failuresBefore + 1, asked, random);
  return delayMs === undefined ? { kind: "given-up" } : { kind: "again", delayMs };
}

/**
 * Whether a state of a webhook has lasted so long that the webhook is disabled.
 *
 * @param since null if the webhook is not in this state
 */
export function lastsTooLong(since: string | null, now: Date, disableAfterMs: number): boolean {
  return since !== null && now.getTime() - new Date(since).getTime() >= disableAfterMs;
}
