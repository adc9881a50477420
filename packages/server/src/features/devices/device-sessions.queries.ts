import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** A session that begins on a device. */
export interface NewDeviceSession {
  /** When the user authenticated. */
  readonly authenticatedAt: Date;
  /** Authentication methods (RFC 8176). */
  readonly methods: readonly string[];
  readonly providerId: string | null;
  /** The provider's own session, for back-channel logout. */
  readonly providerSession: string | null;
}

const store = statement<
  never,
  [
    tenantId: string,
    deviceId: string,
    at: Date,
    authenticatedAt: Date,
    methods: readonly string[],
    providerId: string | null,
    providerSession: string | null,
  ]
>(
  "device_sessions.store",
  `INSERT INTO device_sessions (tenant_id, device_id, signed_in_at, authenticated_at, methods, provider_id,
                                provider_session)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (tenant_id, device_id) DO UPDATE SET signed_in_at = excluded.signed_in_at,
     authenticated_at = excluded.authenticated_at, methods = excluded.methods, provider_id = excluded.provider_id,
     provider_session = excluded.provider_session, ended_at = NULL`,
);
const touch = statement<never, [tenantId: string, ids: readonly string[], at: Date]>(
  "device_sessions.touch_devices",
  "UPDATE devices SET updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

/** A session that has not been ended, and that means something: it limits the device, or somebody has signed in. */
const isOpen = `own.ended_at IS NULL AND item.enrolment_key_id IS NULL
  AND (own.signed_in_at IS NOT NULL OR settings.device_session_lifetime IS NOT NULL)`;
const openSessions = `SELECT item.id FROM devices AS item
  JOIN tenant_settings AS settings ON settings.tenant_id = item.tenant_id
  LEFT JOIN device_sessions AS own ON own.tenant_id = item.tenant_id AND own.device_id = item.id
  WHERE item.tenant_id = $1 AND ${isOpen}`;

const lockOfUser = statement<{ id: string }, [tenantId: string, userId: string]>(
  "device_sessions.lock_of_user",
  `${openSessions} AND item.user_id = $2 ORDER BY item.id FOR UPDATE OF item`,
);
const lockOfProvider = statement<
  { id: string },
  [tenantId: string, providerId: string, providerSession: string | null, userId: string | null]
>(
  "device_sessions.lock_of_provider",
  `${openSessions} AND own.provider_id = $2 AND ($3::text IS NULL OR own.provider_session = $3) AND ($4::uuid IS NULL OR item.user_id = $4)
   ORDER BY item.id FOR UPDATE OF item`,
);
const lockOne = statement<{ id: string }, [tenantId: string, id: string]>(
  "device_sessions.lock_open",
  `${openSessions} AND item.id = $2 FOR UPDATE OF item`,
);
const end = statement<never, [tenantId: string, ids: readonly string[], at: Date]>(
  "device_sessions.end",
  `INSERT INTO device_sessions (tenant_id, device_id, ended_at) SELECT $1, unnest($2::uuid[]), $3
   ON CONFLICT (tenant_id, device_id) DO UPDATE SET ended_at = excluded.ended_at`,
);

/** Begins a session, which replaces the device's earlier one. */
export async function storeDeviceSession(
  tx: TenantTx,
  deviceId: string,
  session: NewDeviceSession,
  at: Date,
): Promise<void> {
  const { authenticatedAt, methods, providerId, providerSession } = session;
  await tx.query(store, tx.tenantId, deviceId, at, authenticatedAt, methods, providerId, providerSession);
}

/** Raises the versions of devices, whose records show their sessions. */
export async function touchDevices(tx: TenantTx, ids: readonly string[], at: Date): Promise<void> {
  await tx.query(touch, tx.tenantId, ids, at);
}

/** Locks the devices of a user whose sessions can be ended. @returns their ids */
export async function lockOpenSessionsOfUser(tx: TenantTx, userId: string): Promise<readonly string[]> {
  return (await tx.query(lockOfUser, tx.tenantId, userId)).map(({ id }) => id);
}

/** Device sessions that began with a sign-in at a provider. */
export interface ProviderSessions {
  readonly providerId: string;
  /** The session at the provider; undefined for all. */
  readonly providerSession?: string | undefined;
  /** The user whose devices they must be; undefined for anyone's. */
  readonly userId?: string | undefined;
}

/** Like `lockOpenSessionsOfUser`, for the sessions that began at a provider. */
export async function lockOpenSessionsOfProvider(
  tx: TenantTx,
  { providerId, providerSession, userId }: ProviderSessions,
): Promise<readonly string[]> {
  const rows = await tx.query(lockOfProvider, tx.tenantId, providerId, providerSession ?? null, userId ?? null);
  return rows.map(({ id }) => id);
}

/** @returns whether the device has a session that can be ended */
export async function lockOpenSession(tx: TenantTx, deviceId: string): Promise<boolean> {
  return (await tx.query(lockOne, tx.tenantId, deviceId)).length > 0;
}

export async function storeSessionEnds(tx: TenantTx, ids: readonly string[], at: Date): Promise<void> {
  await tx.query(end, tx.tenantId, ids, at);
}
