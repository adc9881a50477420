/**
 * Stored times of the future (docs/decisions/0269-stored-times-in-the-future.md). A clock that was ahead has stored
 * them. They must not count until that time comes.
 */

/** A stored time that is later than now by more than this is of the future, in milliseconds. */
export const toleranceMs = 60_000;
/**
 * The same for the times of attempts and the ends of claims, in milliseconds. A replica whose clock is ahead by less
 * keeps its claims.
 */
const claimToleranceMs = 60 * 60_000;

/** The latest time that an observation can have, in milliseconds since 1970. */
export function latestPossible(now: Date): number {
  return now.getTime() + toleranceMs;
}

export function isOfFuture(time: Date, now: Date): boolean {
  return time.getTime() > latestPossible(now);
}

/**
 * SQL: whether the stored time of an observation is of the future.
 *
 * @param now the expression of the replica's time
 */
export function ofFuture(time: string, now: string): string {
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

/** SQL: the later one of a stored and an observed time. A stored time of the future is replaced. */
export function laterTime(stored: string, observed: string, now: string): string {
  return `CASE WHEN ${ofFuture(stored, now)} THEN ${observed} ELSE greatest(${stored}, ${observed}) END`;
}

/**
 * SQL: whether the time of an attempt, or the end of a claim, has come. One beyond the longest delay has come.
 *
 * @param longestMs the longest delay or claim, in milliseconds
 */
export function hasCome(time: string, now: string, longestMs: number): string {
  return `(${time} <= ${now} OR ${beyondLongest(time, now, longestMs)})`;
}
