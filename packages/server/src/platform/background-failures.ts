/** Distinguishes failures of background work that concern one tenant from failures of the database. */
import { AppError } from "./app-error.ts";
import { isDatabaseUnavailable, isLockTimeout, TenantShareError } from "./db/database-errors.ts";

/**
 * Whether an error concerns the whole database, so that the work of every tenant would have it. The others concern one
 * tenant: its connections or locks are busy, or its work is invalid.
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database_unavailable" && isOutage(error.cause);
  return isDatabaseUnavailable(error) && !isBusyTenant(error);
}

/** Whether a later attempt may succeed, because only connections or locks were missing. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "database_unavailable";
  return isDatabaseUnavailable(error) || isBusyTenant(error);
}

/** Whether locks or connections of one tenant did not become free in time. */
export function isBusyTenant(error: unknown): boolean {
  if (error instanceof AppError) return isBusyTenant(error.cause);
  return error instanceof TenantShareError || isLockTimeout(error);
}
