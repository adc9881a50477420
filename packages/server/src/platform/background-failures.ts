/** Distinguishes failures of background work that concern one tenant from failures of the database. */
import { AppError } from "./app-error.ts";
import { isBusyConnection, isDatabaseUnavailable, isLockTimeout } from "./db/database-errors.ts";

/**
 * Whether an error affects the whole database, and therefore every tenant. Other errors affect one tenant: its locks or
 * connections are busy, or its work is invalid.
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database_unavailable" && isOutage(error.cause);
  return isDatabaseUnavailable(error) && !isBusyTenant(error);
}

/** Whether a later attempt may succeed, because only connections or locks were unavailable. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database_unavailable";
  return isDatabaseUnavailable(error) || isBusyTenant(error);
}

/** Whether locks or connections did not become free in time, although the database answers. */
export function isBusyTenant(error: unknown): boolean {
  if (error instanceof AppError) return isBusyTenant(error.cause);
  return isBusyConnection(error) || isLockTimeout(error);
}
