/** When a message is tried again, and when it is given up. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** The longest time from each failed attempt to the next, in milliseconds: about a day together. */
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

/** The share of a delay that is left to chance, so that messages that failed together do not return together. */
const jitter = 0.2;

/** A receiver may ask for a longer pause, up to this, in milliseconds. */
export const longestRetryAfterMs = hourMs;

/**
 * @param failures attempts that have failed so far, the latest included: 1 or more
 * @param retryAfterMs what the receiver asked for, in milliseconds; undefined where it did not
 * @param random from 0 to below 1
 * @returns the time until the next attempt, in milliseconds; undefined when there is none
 */
export function retryDelayMs(failures: number, retryAfterMs: number | undefined, random: number): number | undefined {
  const longest = retryDelaysMs[failures - 1];
  if (longest === undefined) return undefined;
  const delay = Math.round(longest * (1 - jitter * random));
  return Math.max(delay, Math.min(retryAfterMs ?? 0, longestRetryAfterMs));
}

/** Statuses whose Retry-After counts (RFC 9110, section 10.2.3; RFC 6585, section 4). */
const statusesWithRetryAfter = new Set([429, 503]);

/**
 * Reads Retry-After: seconds, or a date.
 *
 * @returns milliseconds from now, 0 for a moment that is over; undefined when there is none, it cannot be read, or the
 *   status gives it no meaning
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
  /** To be tried again, in so many milliseconds. */
  | { readonly kind: "again"; readonly delayMs: number }
  | { readonly kind: "given-up" }
  /** The receiver wants no more messages at all. */
  | { readonly kind: "gone" };

/** What an attempt's answer means for the message. `statusCode` is undefined where no answer came. */
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

/** Whether a webhook whose attempts have all failed since then is to be disabled. */
export function hasFailedTooLong(failingSince: string, now: Date, disableAfterMs: number): boolean {
  return now.getTime() - new Date(failingSince).getTime() >= disableAfterMs;
}
