/** How long sessions live (docs/decisions/0041-sessions.md). */

const minuteMs = 60_000;

/** A session that is not used for this long is over, in milliseconds. */
export const idleMs = 60 * minuteMs;
/** A session is over after this long, however much it is used, in milliseconds. */
export const longestMs = 12 * 60 * minuteMs;
/** Its last use is written down this often at most, in milliseconds. */
const touchEveryMs = minuteMs;

export interface SessionTimes {
  /** Timestamps, as stored. */
  readonly lastUsedAt: string;
  readonly expiresAt: string;
}

/** @param keyExpiresAt when the key that signs in expires; null for never */
export function sessionExpiry(now: Date, keyExpiresAt: string | null): Date {
  const keyEndsMs = keyExpiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(keyExpiresAt);
  return new Date(Math.min(now.getTime() + longestMs, keyEndsMs));
}

export function isOver({ lastUsedAt, expiresAt }: SessionTimes, now: Date): boolean {
  return now.getTime() >= Math.min(Date.parse(expiresAt), Date.parse(lastUsedAt) + idleMs);
}

export function wantsTouch({ lastUsedAt }: Pick<SessionTimes, "lastUsedAt">, now: Date): boolean {
  return now.getTime() - Date.parse(lastUsedAt) >= touchEveryMs;
}
