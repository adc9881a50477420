import type { Device, PolicyDevice } from "@gatehouse/contract/records/device";
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
  readonly enrolment_key_id: string | null;
  readonly user: DeviceUserJson | null;
  /** Null if nobody has signed in on the device, and nothing has ended its session. */
  readonly session: DeviceSessionJson | null;
  readonly session_ends_at: string | null;
}

/**
 * SQL for the end of a device's session. Null if the tenant sets no lifetime, or if the device was enrolled with an
 * enrolment key: it is a server without a person who could sign in. Ends are whole seconds, so that sessions which end
 * together change configurations together.
 *
 * @param alias the name of the row of `devices`
 */
export function deviceSessionEnd(alias: string): string {
  const began = `greatest(coalesce(own.signed_in_at, ${alias}.created_at), settings.device_sessions_since)`;
  return `(SELECT date_trunc('second', coalesce(own.ended_at,
             ${began} + settings.device_session_lifetime * interval '1 second'))
           FROM tenant_settings AS settings
           LEFT JOIN device_sessions AS own ON own.tenant_id = settings.tenant_id AND own.device_id = ${alias}.id
           WHERE settings.tenant_id = ${alias}.tenant_id AND settings.device_session_lifetime IS NOT NULL
             AND ${alias}.enrolment_key_id IS NULL)`;
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
    "enrolment_key_id",
  ];
  return jsonObject(alias, columns, {
    user_status: ofUser(alias, (user) => `${user}.status`),
    user: ofUser(alias, (user) => jsonObject(user, ["id", "last_connection", "email", "first_name", "last_name"])),
    session: `(SELECT ${jsonObject("own", ["signed_in_at", "authenticated_at", "methods", "provider_id", "ended_at"])}
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
