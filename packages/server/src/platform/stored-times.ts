/**
 * Stored times in the future (docs/decisions/0269-stored-times-in-the-future.md). They come from a clock that was
 * ahead. They must not count, not even when their time comes.
 */

/** How far in the future a stored time may be, in milliseconds. Later times are invalid. */
export const toleranceMs = 60_000;
/**
 * How far beyond the longest delay the time of an attempt, or the end of a claim, may be, in milliseconds. A replica
 * whose clock is ahead by less keeps its claims.
 */
const claimToleranceMs = 60 * 60_000;

/** The latest valid time of an observation, in milliseconds since 1970. */
export function latestValidTime(now: Date): number {
  return now.getTime() + toleranceMs;
}

export function isInFuture(time: Date, now: Date): boolean {
  return time.getTime() > latestValidTime(now);
}

/**
 * SQL: whether the stored time of an observation is in the future.
 *
 * @param now the expression of the replica's time
 */
export function inFuture(time: string, now: string): string {
  return isAfter(time, now, toleranceMs);
}

/**
 * SQL: whether the time of an attempt, or the end of a claim, is later than any correct clock would store it.
 *
 * @param longestMs the longest delay or claim, in milliseconds
 */
export function beyondLongest(time: string, now: string, longestMs: number): string {
  return isAfter(time, now, longestMs + claimToleranceMs);
}

function isAfter(time: string, now: string, afterMs: number): string {
  return `${time} > ${now}::timestamptz + interval '${afterMs} milliseconds'`;
}

/** SQL: the later of a stored and an observed time. Replaces a stored time in the future. */
export function laterTime(stored: string, observed: string, now: string): string {
  return `CASE WHEN ${inFuture(stored, now)} THEN ${observed} ELSE greatest(${stored}, ${observed}) END`;
}

/**
 * SQL: whether the time of an attempt, or the end of a claim, is past. A time beyond the longest delay counts as past.
 *
 * @param longestMs the longest delay or claim, in milliseconds
 */
export function hasCome(time: string, now: string, longestMs: number): string {
  return `(${time} <= ${now} OR ${beyondLongest(time, now, longestMs)})`;
}
