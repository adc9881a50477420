/** Step-up: dangerous operations require that a person authenticated recently (RFC 9470). */
import { isAlwaysDangerous, isWrite, type Operation } from "@gatehouse/contract/operation";
import type { Permission } from "@gatehouse/contract/permissions";
import { containsGateways } from "@gatehouse/contract/schema-fields";
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

/**
 * The permissions that decide what an answer of the operation shows. People see tokens of gateways, which outlive their
 * sessions, only after a recent authentication. Writes that are not dangerous show people none: with the same
 * Idempotency-Key, an older session gets the same reply.
 */
export function shownPermissions(
  { permissions, session }: { readonly permissions: ReadonlySet<Permission>; readonly session?: Authenticated },
  operation: Operation,
  now: Date,
): ReadonlySet<Permission> {
  if (session === undefined || !permissions.has("gateways:token")) return permissions;
  // Such answers are the same with and without the permission, and are cached once.
  if (operation.method === "GET" && !showsGateways(operation)) return permissions;
  const isRepeated = isWrite(operation) && !isAlwaysDangerous(operation);
  if (!isRepeated && isRecent(session, now, recentSeconds)) return permissions;
  return new Set([...permissions].filter((permission) => permission !== "gateways:token"));
}

const showing = new WeakMap<Operation, boolean>();

function showsGateways(operation: Operation): boolean {
  const shows = showing.get(operation) ?? containsGateways(operation);
  showing.set(operation, shows);
  return shows;
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
