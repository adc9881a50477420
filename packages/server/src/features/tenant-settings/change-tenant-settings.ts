/** Changes the settings of a tenant, for the operation and for configuration documents. */
import type { TenantSettings } from "@gatehouse/contract/records/tenant-settings";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./tenant-settings.queries.ts";

export interface SettingsChange {
  readonly before: TenantSettings;
  readonly after: TenantSettings;
}

/**
 * @returns undefined if the tenant does not exist any more
 *
 * @throws AppError last_way_in
 */
export async function changeTenantSettings(
  tx: TenantTx,
  granted: Granted<"settings:write">,
  { before, after }: SettingsChange,
  at: Date,
): Promise<queries.TenantSettingsRow | undefined> {
  if (after.singleSignOnOnly && !before.singleSignOnOnly) await requireWaysIn(tx);
  const changed = await queries.updateTenantSettings(tx, granted, after, at);
  const { sessionLifetime, sessionIdleTime } = after;
  if (sessionLifetime < before.sessionLifetime || sessionIdleTime < before.sessionIdleTime) {
    await queries.shortenSessions(tx, after);
  }
  return changed;
}

/**
 * Passkeys are not accepted any more, so that people need a provider, and the owner a way in that is known to work.
 *
 * @throws AppError last_way_in
 */
async function requireWaysIn(tx: TenantTx): Promise<void> {
  const { hasProvider, hasOwnersWayIn } = await queries.readSingleSignOnWays(tx);
  if (!hasProvider) throw new AppError("last_way_in", { detail: "No identity provider is enabled." });
  if (hasOwnersWayIn) return;
  throw new AppError("last_way_in", {
    detail: "The owner has neither a recovery code nor an account at an enabled identity provider.",
  });
}
