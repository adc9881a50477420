/** The WireGuard keys of devices, as their agents report them. */
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import { statement } from "../../platform/db/statement.ts";
import type { KeyColumns } from "../../platform/known-keys.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface DeviceKeyRow extends KeyColumns {
  readonly id: string;
}

const lock = statement<DeviceKeyRow, [tenantId: string, ids: readonly string[]]>(
  "devices.lock_keys",
  `SELECT id, public_key, key_proved, key_reset_until FROM devices
   WHERE tenant_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
const store = statement<never, [tenantId: string, at: Date, rows: string]>(
  "devices.store_keys",
  `UPDATE devices AS item
   SET updated_at = $2, public_key = given.public_key, key_proved = given.key_proved,
       key_reset_until = given.key_reset_until
   FROM json_to_recordset($3) AS given (id uuid, public_key text, key_proved boolean, key_reset_until timestamptz)
   WHERE item.tenant_id = $1 AND item.id = given.id`,
);
const allowReset = statement<never, [tenantId: string, id: string, at: Date, until: Date]>(
  "devices.allow_key_reset",
  "UPDATE devices SET updated_at = $3, version = version + 1, key_reset_until = $4 WHERE tenant_id = $1 AND id = $2",
);

/** Reads the keys of devices. Nobody else can change them before the transaction ends. */
export function lockDeviceKeys(tx: TenantTx, ids: readonly string[]): Promise<DeviceKeyRow[]> {
  return tx.query(lock, tx.tenantId, ids);
}

/**
 * Stores the keys of devices. Versions do not change, so a report does not make a concurrent write stale.
 *
 * @throws AppError device_key_taken
 */
export async function storeDeviceKeys(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  rows: readonly DeviceKeyRow[],
  at: Date,
): Promise<void> {
  await withConstraints(
    { devices_public_key_unique: () => new AppError("device_key_taken") },
    tx.query(store, tx.tenantId, at, JSON.stringify(rows)),
  );
}

export async function allowDeviceKeyReset(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  id: string,
  until: Date,
  at: Date,
): Promise<void> {
  await tx.query(allowReset, tx.tenantId, id, at, until);
}
