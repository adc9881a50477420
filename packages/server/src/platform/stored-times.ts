/**
 * Stored times of the future (docs/decisions/0269-stored-times-in-the-future.md). A clock that was ahead has stored
 * them. They must not count until that time comes.
 */

/** A stored time that is later than now by more than this is of the future, in milliseconds. */
const toleranceMs = 60_000;

/** The latest time that an observation can have, in milliseconds since 1970. */
export function latestPossible(now: Date): number {
  return now.getTime() + toleranceMs;
}

export function isOfFuture(time: Date, now: Date): boolean {
  return time.getTime() > latestPossible(now);
}

/**
 * SQL: whether a stored time is of the future.
 *
 * @param now the expression of the replica's time
 * @param longestMs how far ahead correct clocks store this time, in milliseconds; 0 for times of observations
 */
export function ofFuture(time: string, now: string, longestMs = 0): string {
  return `${time} > ${now}::timestamptz + interval '${longestMs + toleranceMs} milliseconds'`;
}

/** SQL: the later one of a stored and an observed time. A stored time of the future is replaced. */
export function laterTime(stored: string, observed: string, now: string): string {
  return `CASE WHEN ${ofFuture(stored, now)} THEN ${observed} ELSE greatest(${stored}, ${observed}) END`;
}

/**
 * SQL: whether the time of an attempt, or the end of a claim, has come. A time of the future has come.
 *
 * @param longestMs the longest delay or claim, in milliseconds
 */
export function hasCome(time: string, now: string, longestMs: number): string {
  return `(${time} <= ${now} OR ${ofFuture(time, now, longestMs)})`;
}
