/** Step-up: dangerous operations require that a person authenticated recently (RFC 9470). */
import { AppError } from "../app-error.ts";
import { isInFuture } from "../stored-times.ts";

interface Authenticated {
  readonly authenticatedAt: Date;
}

/** The maximum age of an authentication, in seconds. */
export const recentSeconds = 15 * 60;

/**
 * API keys pass, because nobody can answer for them.
 *
 * @param maxSeconds the maximum age of the authentication
 * @throws AppError recent_authentication_required
 */
export function requireRecentAuthentication(
  { session }: { readonly session?: Authenticated },
  now: Date,
  maxSeconds = recentSeconds,
): void {
  if (session === undefined || isRecent(session, now, maxSeconds)) return;
  throw new AppError("recent_authentication_required");
}

/** An authentication in the future is not recent: its age is unknown. */
function isRecent({ authenticatedAt }: Authenticated, now: Date, maxSeconds: number): boolean {
  return !isInFuture(authenticatedAt, now) && now.getTime() - authenticatedAt.getTime() <= maxSeconds * 1000;
}

/** @throws AppError person_required */
export function requirePerson<Session extends object>({
  session,
}: {
  readonly session?: Session | undefined;
}): Session {
  if (session === undefined) throw new AppError("person_required");
  return session;
}
