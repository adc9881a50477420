/** The lifetime of sessions (docs/decisions/0041-sessions.md, 0088-people-sign-in.md). */

const minuteMs = 60_000;

/** The idle time after which a session ends, in milliseconds. */
export const idleMs = 60 * minuteMs;
/** The maximum lifetime of a session, in milliseconds. */
export const longestMs = 12 * 60 * minuteMs;
/** The lifetimes of people's sessions in a tenant that has not set others. */
export const defaultLifetimes = { lifetimeSeconds: longestMs / 1000, idleSeconds: idleMs / 1000 };
/** The minimum time between two stores of the last use, in milliseconds. */
const touchEveryMs = minuteMs;

export interface SessionTimes {
  /** A timestamp as stored. */
  readonly lastUsedAt: string;
  readonly expiresAt: string;
}

/** @param keyExpiresAt when the key expires; null for never */
export function sessionExpiry(now: Date, keyExpiresAt: string | null): Date {
  const keyEndsMs = keyExpiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(keyExpiresAt);
  return new Date(Math.min(now.getTime() + longestMs, keyEndsMs));
}

/** @param idleAfterMs the idle time after which this session ends, in milliseconds */
export function isOver({ lastUsedAt, expiresAt }: SessionTimes, now: Date, idleAfterMs = idleMs): boolean {
  return now.getTime() >= Math.min(Date.parse(expiresAt), Date.parse(lastUsedAt) + idleAfterMs);
}

export function wantsTouch({ lastUsedAt }: Pick<SessionTimes, "lastUsedAt">, now: Date): boolean {
  return now.getTime() - Date.parse(lastUsedAt) >= touchEveryMs;
}
