import type { Device, DeviceSessionEndReason, PolicyDevice } from "@gatehouse/contract/records/device";
import type { UserStatus } from "@gatehouse/contract/records/user";
import { isoTimestamp } from "../../platform/db/column-types.ts";
import { jsonObject } from "../../platform/db/json-object.ts";
import { earliest } from "../../platform/earliest.ts";
import { deviceStatus, deviceStatusChangesAt } from "./devices.rules.ts";

/** A device as `policyDeviceJson` selects it. */
export interface PolicyDeviceJson {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly active: boolean;
  readonly hardware_id: string;
  readonly posture: PolicyDevice["posture"] | null;
  readonly app_version: string;
  readonly last_connection: string | null;
  /** Null after the user was deleted. */
  readonly user_status: UserStatus | null;
}

const policyColumns = [
  "id",
  "created_at",
  "updated_at",
  "name",
  "active",
  "hardware_id",
  "posture",
  "app_version",
  "last_connection",
];

/** SQL for an expression over the user of a device. */
function ofUser(device: string, expression: (user: string) => string): string {
  return `(SELECT ${expression("device_user")} FROM users AS device_user
           WHERE device_user.tenant_id = ${device}.tenant_id AND device_user.id = ${device}.user_id)`;
}

/**
 * SQL for a device as policies show it, as one json value.
 *
 * @param alias the name of the row of `devices`
 */
export function policyDeviceJson(alias: string): string {
  return jsonObject(alias, policyColumns, { user_status: ofUser(alias, (user) => `${user}.status`) });
}

/** The time at which the status of a device changes although nothing is written, in milliseconds. */
export function devicesChangeAt(rows: readonly PolicyDeviceJson[] | null, now: Date): number {
  return earliest(
    (rows ?? []).map(({ active, user_status: userStatus, last_connection: last }) => {
      const lastConnection = last === null ? undefined : isoTimestamp(last);
      return deviceStatusChangesAt({ active, userStatus, lastConnection }, now);
    }),
  );
}

/** @param now the time for which `status` is computed */
export function policyDeviceView(row: PolicyDeviceJson, now: Date): PolicyDevice {
  const lastConnection = row.last_connection === null ? undefined : isoTimestamp(row.last_connection);
  return {
    id: row.id,
    createdAt: isoTimestamp(row.created_at),
    updatedAt: isoTimestamp(row.updated_at),
    name: row.name,
    active: row.active,
    ...(lastConnection === undefined ? {} : { lastConnection }),
    status: deviceStatus({ active: row.active, userStatus: row.user_status, lastConnection }, now),
    hardwareId: row.hardware_id,
    ...(row.posture === null || row.posture === undefined ? {} : { posture: row.posture }),
    ...(row.app_version === "" ? {} : { appVersion: row.app_version }),
  };
}

interface DeviceUserJson {
  readonly id: string;
  readonly last_connection: string | null;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
}

interface DeviceSessionJson {
  readonly signed_in_at: string | null;
  readonly authenticated_at: string | null;
  readonly methods: readonly string[];
  readonly provider_id: string | null;
  readonly ended_at: string | null;
  /** Null unless the session was ended. */
  readonly end_reason: DeviceSessionEndReason | null;
}

/** A device as `deviceJson` selects it. */
export interface DeviceJson extends PolicyDeviceJson {
  readonly os: string;
  readonly os_version: string;
  readonly public_key: string;
  readonly key_proved: boolean;
  readonly key_reset_until: string | null;
  readonly approval_pending: boolean;
  readonly tags: readonly string[];
  readonly agent: boolean;
  readonly enrolment_key_id: string | null;
  readonly user: DeviceUserJson | null;
  /** Null if nobody has signed in on the device, and nothing has ended its session. */
  readonly session: DeviceSessionJson | null;
  readonly session_ends_at: string | null;
}

/**
 * SQL for the lifetimes that limit the sessions of a user's devices, in seconds, with the time from which each limit
 * counts: the tenant's lifetime, and those of the user's groups.
 *
 * @param tenant SQL for the id of the tenant
 * @param user SQL for the id of the user
 */
export function sessionLimits(tenant: string, user: string): string {
  return `SELECT settings.device_session_lifetime AS lifetime, settings.device_sessions_since AS since
          FROM tenant_settings AS settings
          WHERE settings.tenant_id = ${tenant} AND settings.device_session_lifetime IS NOT NULL
          UNION ALL
          SELECT limiting.device_session_lifetime, limiting.device_sessions_since
          FROM groups AS limiting
          JOIN group_members AS joined ON joined.tenant_id = limiting.tenant_id AND joined.group_id = limiting.id
          WHERE limiting.tenant_id = ${tenant} AND limiting.device_session_lifetime IS NOT NULL
            AND joined.user_id = ${user}`;
}

/**
 * SQL for the end of a device's session: the earliest that the lifetimes give. Null if no lifetime is set and nobody
 * has asked for a sign-in, or if the device was enrolled with an enrolment key: it is a server without a person who
 * could sign in. Ends are whole seconds, so that sessions which end together change configurations together.
 *
 * @param alias the name of the row of `devices`
 */
export function deviceSessionEnd(alias: string): string {
  return `(SELECT date_trunc('second', CASE WHEN limited.end_at IS NOT NULL OR own.sign_in_required
             THEN coalesce(own.ended_at, limited.end_at) END)
           FROM (SELECT ${alias}.id WHERE ${alias}.enrolment_key_id IS NULL) AS signable
           LEFT JOIN device_sessions AS own ON own.tenant_id = ${alias}.tenant_id AND own.device_id = signable.id
           CROSS JOIN LATERAL (
             SELECT min(greatest(coalesce(own.signed_in_at, ${alias}.created_at), limits.since)
                        + limits.lifetime * interval '1 second') AS end_at
             FROM (${sessionLimits(`${alias}.tenant_id`, `${alias}.user_id`)}) AS limits) AS limited)`;
}

/**
 * SQL for the session that admission rules read, as one json value. Null if nobody has signed in on the device, if
 * the session was ended, or if the device is a server's, whose sessions nothing would end. Its end by time denies
 * everything, so that rules need not know it.
 *
 * @param alias the name of the row of `devices`
 */
export function deviceSessionFacts(alias: string): string {
  return `(SELECT json_build_object('authenticatedAt', (extract(epoch FROM own.authenticated_at) * 1000)::bigint,
             'methods', own.methods, 'provider', own.provider_id)
           FROM device_sessions AS own
           WHERE own.tenant_id = ${alias}.tenant_id AND own.device_id = ${alias}.id
             AND own.authenticated_at IS NOT NULL AND own.ended_at IS NULL AND ${alias}.enrolment_key_id IS NULL)`;
}

/**
 * SQL for a device with its user as one json value.
 *
 * @param alias the name of the row of `devices`
 */
export function deviceJson(alias: string): string {
  const columns = [
    ...policyColumns,
    "os",
    "os_version",
    "public_key",
    "key_proved",
    "key_reset_until",
    "approval_pending",
    "tags",
    "agent",
    "enrolment_key_id",
  ];
  return jsonObject(alias, columns, {
    user_status: ofUser(alias, (user) => `${user}.status`),
    user: ofUser(alias, (user) => jsonObject(user, ["id", "last_connection", "email", "first_name", "last_name"])),
    session: `(SELECT ${jsonObject("own", ["signed_in_at", "authenticated_at", "methods", "provider_id", "ended_at", "end_reason"])}
               FROM device_sessions AS own WHERE own.tenant_id = ${alias}.tenant_id AND own.device_id = ${alias}.id)`,
    session_ends_at: deviceSessionEnd(alias),
  });
}

/** @param now the time for which `status` is computed */
export function deviceView(row: DeviceJson, now: Date): Device {
  return {
    ...policyDeviceView(row, now),
    ...(row.os === "" ? {} : { os: row.os }),
    ...(row.os_version === "" ? {} : { osVersion: row.os_version }),
    publicKey: row.public_key,
    ...(row.key_proved ? { publicKeyProved: true } : {}),
    ...(row.key_reset_until === null ? {} : { keyResetUntil: isoTimestamp(row.key_reset_until) }),
    ...(row.approval_pending ? { approval: "pending" } : {}),
    tags: [...row.tags],
    ...(row.agent ? {} : { agent: false }),
    ...(row.enrolment_key_id === null ? {} : { enrolmentKey: row.enrolment_key_id }),
    ...(row.session === null && row.session_ends_at === null ? {} : { session: deviceSessionView(row) }),
    ...(row.user === null ? {} : { user: deviceUserView(row.user) }),
  };
}

function deviceSessionView({ session, session_ends_at: endsAt }: DeviceJson): NonNullable<Device["session"]> {
  const { signed_in_at: signedInAt, authenticated_at: authenticatedAt, provider_id: provider } = session ?? nobody;
  return {
    ...(signedInAt === null ? {} : { signedInAt: isoTimestamp(signedInAt) }),
    ...(authenticatedAt === null ? {} : { authenticatedAt: isoTimestamp(authenticatedAt) }),
    methods: [...(session?.methods ?? [])],
    ...(provider === null ? {} : { provider }),
    ...(endsAt === null ? {} : { endsAt: isoTimestamp(endsAt) }),
    ...(session === null || session.ended_at === null ? {} : { ended: true }),
    ...(session === null || session.ended_at === null || session.end_reason === null
      ? {}
      : { endReason: session.end_reason }),
  };
}

const nobody = { signed_in_at: null, authenticated_at: null, provider_id: null } as const;

function deviceUserView(row: DeviceUserJson): NonNullable<Device["user"]> {
  return {
    id: row.id,
    lastConnection: row.last_connection === null ? null : isoTimestamp(row.last_connection),
    ...(row.email === "" ? {} : { email: row.email }),
    ...(row.first_name === "" ? {} : { firstName: row.first_name }),
    ...(row.last_name === "" ? {} : { lastName: row.last_name }),
  };
}
