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
    ...(row.user === null ? {} : { user: deviceUserView(row.user) }),
  };
}

function deviceUserView(row: DeviceUserJson): NonNullable<Device["user"]> {
  return {
    id: row.id,
    lastConnection: row.last_connection === null ? null : isoTimestamp(row.last_connection),
    ...(row.email === "" ? {} : { email: row.email }),
    ...(row.first_name === "" ? {} : { firstName: row.first_name }),
    ...(row.last_name === "" ? {} : { lastName: row.last_name }),
  };
}
