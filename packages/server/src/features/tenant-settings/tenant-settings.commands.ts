import { isDeepStrictEqual } from "node:util";
import type * as operations from "@gatehouse/contract/operations/tenant-settings.operations";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import { changeTenantSettings } from "./change-tenant-settings.ts";
import * as queries from "./tenant-settings.queries.ts";
import { tenantSettingsView } from "./tenant-settings.view.ts";

export async function readTenantSettings(call: Call<typeof operations.readTenantSettings>): Promise<Outcome> {
  const row = await call.read(queries.readTenantSettings);
  if (row === undefined) throw new AppError("not_found");
  return record(tenantSettingsView(row), row.version);
}

/** The outbox entry makes every replica compute configurations with the new settings. */
export async function replaceTenantSettings(call: Call<typeof operations.replaceTenantSettings>): Promise<Outcome> {
  return call.command(async (tx) => {
    const row = await queries.lockTenantSettings(tx);
    if (row === undefined) throw new AppError("not_found");
    call.requireVersion(row.version);
    const before = tenantSettingsView(row);
    const wanted = { ...before, ...call.body };
    if (isDeepStrictEqual(wanted, before)) return record(before, row.version);
    const changed = await changeTenantSettings(tx, call.granted, { before, after: wanted }, call.now);
    if (changed === undefined) throw new AppError("not_found");
    const after = tenantSettingsView(changed);
    tx.record({ type: "tenant-settings", id: tx.tenantId, name: "settings", before, after });
    return record(after, changed.version);
  });
}
