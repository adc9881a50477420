import type { DeviceSessionEndReason } from "@gatehouse/contract/records/device";
import type { Actor } from "../../platform/change.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { sessionLimits } from "./devices.view.ts";

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

/** The end of sessions before their time. */
export interface SessionEnd {
  readonly at: Date;
  readonly reason: DeviceSessionEndReason;
  readonly by: Actor;
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
     provider_session = excluded.provider_session, ended_at = NULL, end_reason = NULL, ended_by = NULL,
     sign_in_required = false`,
);
const touch = statement<never, [tenantId: string, ids: readonly string[], at: Date]>(
  "device_sessions.touch_devices",
  "UPDATE devices SET updated_at = $3, version = version + 1 WHERE tenant_id = $1 AND id = ANY ($2::uuid[])",
);

const isLimited = `EXISTS (${sessionLimits("item.tenant_id", "item.user_id")})`;
/** A session that has not been ended, and that means something: it limits the device, or somebody has signed in. */
const isOpen = `(own.ended_at IS NULL AND item.enrolment_key_id IS NULL
  AND (own.signed_in_at IS NOT NULL OR ${isLimited}))`;
/** A session whose stored end has no effect, because no lifetime is set. A deactivation ends the session. */
const isReopened = `(own.ended_at IS NOT NULL AND NOT own.sign_in_required AND item.enrolment_key_id IS NULL
  AND item.active AND NOT ${isLimited})`;
const sessionsThat = (condition: string) => `SELECT item.id FROM devices AS item
  LEFT JOIN device_sessions AS own ON own.tenant_id = item.tenant_id AND own.device_id = item.id
  WHERE item.tenant_id = $1 AND ${condition}`;
const openSessions = sessionsThat(isOpen);

const lockOfUser = statement<{ id: string }, [tenantId: string, userId: string, isDeactivation: boolean]>(
  "device_sessions.lock_of_user",
  `${sessionsThat(`(${isOpen} OR ($3 AND ${isReopened}))`)} AND item.user_id = $2 ORDER BY item.id FOR UPDATE OF item`,
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
  "device_sessions.lock_to_deactivate",
  `${sessionsThat(`(${isOpen} OR (${isReopened} AND NOT EXISTS (SELECT FROM users AS person
     WHERE person.tenant_id = item.tenant_id AND person.id = item.user_id AND person.status = 'inactive')))`)}
   AND item.id = $2 FOR UPDATE OF item`,
);
const end = statement<
  never,
  [tenantId: string, ids: readonly string[], at: Date, reason: string, by: string, isSignInRequired: boolean]
>(
  "device_sessions.end",
  `INSERT INTO device_sessions (tenant_id, device_id, ended_at, end_reason, ended_by, sign_in_required)
   SELECT $1, unnest($2::uuid[]), $3, $4, $5::jsonb, $6
   ON CONFLICT (tenant_id, device_id) DO UPDATE SET ended_at = excluded.ended_at, end_reason = excluded.end_reason,
     ended_by = excluded.ended_by, sign_in_required = excluded.sign_in_required
   -- A sign-in that was required meanwhile stays required.
   WHERE device_sessions.ended_at IS NULL OR NOT device_sessions.sign_in_required`,
);

/** The devices whose users are asked to sign in again: devices, all those of users, and those of members of groups. */
export interface AskedDevices {
  readonly devices?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
}

type AskedIds = [tenantId: string, devices: readonly string[], users: readonly string[], groups: readonly string[]];

const findAsked = statement<{ id: string }, AskedIds>(
  "device_sessions.find_asked",
  `SELECT id FROM devices WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
   UNION ALL SELECT id FROM users WHERE tenant_id = $1 AND id = ANY ($3::uuid[])
   UNION ALL SELECT id FROM groups WHERE tenant_id = $1 AND id = ANY ($4::uuid[])`,
);
/** Devices of people whose users have not been asked yet. Nobody signs in on devices of enrolment keys. */
const lockAsked = statement<{ id: string }, [...AskedIds, limit: number]>(
  "device_sessions.lock_asked",
  `SELECT item.id FROM devices AS item
   LEFT JOIN device_sessions AS own ON own.tenant_id = item.tenant_id AND own.device_id = item.id
   WHERE item.tenant_id = $1 AND item.enrolment_key_id IS NULL AND own.sign_in_required IS NOT TRUE AND item.id IN (
     SELECT named.id FROM devices AS named
     WHERE named.tenant_id = $1 AND named.user_id IS NOT NULL AND named.id = ANY ($2::uuid[])
     UNION SELECT named.id FROM devices AS named WHERE named.tenant_id = $1 AND named.user_id = ANY ($3::uuid[])
     UNION SELECT named.id FROM group_members AS member
       JOIN devices AS named ON named.tenant_id = member.tenant_id AND named.user_id = member.user_id
       WHERE member.tenant_id = $1 AND member.group_id = ANY ($4::uuid[]))
   ORDER BY item.id LIMIT $5 FOR UPDATE OF item`,
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

/**
 * Locks the devices of a user whose sessions can be ended.
 *
 * @param isDeactivation whether the user is being deactivated, which also ends sessions whose stored end has no effect
 * @returns their ids
 */
export async function lockOpenSessionsOfUser(
  tx: TenantTx,
  userId: string,
  isDeactivation: boolean,
): Promise<readonly string[]> {
  return (await tx.query(lockOfUser, tx.tenantId, userId, isDeactivation)).map(({ id }) => id);
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

/** @returns whether the device has a session that its deactivation ends */
export async function lockSessionToDeactivate(tx: TenantTx, deviceId: string): Promise<boolean> {
  return (await tx.query(lockOne, tx.tenantId, deviceId)).length > 0;
}

/** Ends sessions. If the end is a request for a sign-in, it also applies without a lifetime of sessions. */
export async function storeSessionEnds(
  tx: TenantTx,
  ids: readonly string[],
  { at, reason, by }: SessionEnd,
): Promise<void> {
  await tx.query(end, tx.tenantId, ids, at, reason, JSON.stringify(by), reason === "sign-in-required");
}

/** @returns the ids of the devices, users and groups that exist, in lower case */
export async function findAskedRecords(tx: TenantTx, asked: AskedDevices): Promise<ReadonlySet<string>> {
  const rows = await tx.query(findAsked, ...idsOf(tx, asked));
  return new Set(rows.map(({ id }) => id));
}

/**
 * Locks devices whose users can be asked to sign in again.
 *
 * @param limit the most ids to return
 * @returns their ids
 */
export async function lockAskedDevices(tx: TenantTx, asked: AskedDevices, limit: number): Promise<readonly string[]> {
  const rows = await tx.query(lockAsked, ...idsOf(tx, asked), limit);
  return rows.map(({ id }) => id);
}

function idsOf(tx: TenantTx, { devices = [], users = [], groups = [] }: AskedDevices): AskedIds {
  return [tx.tenantId, devices, users, groups];
}
