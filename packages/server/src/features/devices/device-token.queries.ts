/** Tokens that the agents of devices present. */
import type { KnownKey } from "@gatehouse/agent-protocol/link/key-proof";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Database } from "../../platform/db/database.ts";
import { statement } from "../../platform/db/statement.ts";
import { type KeyColumns, knownKeyOf } from "../../platform/known-keys.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

const replace = statement<never, [tenantId: string, deviceId: string, hash: Buffer, at: Date]>(
  "devices.replace_token",
  `INSERT INTO device_tokens (tenant_id, device_id, token_hash, created_at) VALUES ($1, $2, $3, $4)
   ON CONFLICT (tenant_id, device_id) DO UPDATE SET token_hash = excluded.token_hash, created_at = excluded.created_at`,
);
const touch = statement<never, [tenantId: string, deviceId: string, at: Date]>(
  "devices.touch_for_token",
  "UPDATE devices SET updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND id = $2",
);

/** Replaces the token of a device, or sets its first one. The device must be locked. */
export async function replaceDeviceToken(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  deviceId: string,
  hash: Buffer,
  at: Date,
): Promise<void> {
  await tx.query(replace, tx.tenantId, deviceId, hash, at);
  await tx.query(touch, tx.tenantId, deviceId, at);
}

export interface PresentedDeviceRow {
  readonly tenant_id: string;
  readonly device_id: string;
}

const selectPresented = statement<PresentedDeviceRow, [hash: Buffer]>(
  "devices.presented_token",
  "SELECT tenant_id, device_id FROM device_tokens WHERE token_hash = $1",
);

/** The device that has the token, in any tenant, or undefined. */
export async function findPresentedDevice(database: Database, hash: Buffer): Promise<PresentedDeviceRow | undefined> {
  const scope = { kind: "presented-key", keyHash: hash.toString("hex") } as const;
  return (await database.snapshot(scope, ({ query }) => query(selectPresented, hash)))[0];
}

const selectOfDevices = statement<
  KeyColumns & { id: string; token_hash: Buffer | null },
  [tenantId: string, ids: readonly string[]]
>(
  "devices.tokens",
  `SELECT item.id, item.public_key, item.key_proved, item.key_reset_until, own.token_hash FROM devices AS item
   LEFT JOIN device_tokens AS own ON own.tenant_id = item.tenant_id AND own.device_id = item.id
   WHERE item.tenant_id = $1 AND item.id = ANY ($2::uuid[])`,
);

/** The identity of a device. */
export interface DeviceIdentity {
  readonly key: KnownKey;
  /** SHA-256 of the token in hexadecimal; null if the device has no token. */
  readonly tokenHash: string | null;
}

/** The identities of the devices that exist. */
export async function identitiesOfDevices(
  tx: TenantTx,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DeviceIdentity>> {
  const rows = await tx.query(selectOfDevices, tx.tenantId, ids);
  return new Map(
    rows.map((row) => [row.id, { key: knownKeyOf(row), tokenHash: row.token_hash?.toString("hex") ?? null }]),
  );
}
