import type { Device } from "@gatehouse/contract/records/device";
import { AppError } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { withConstraints } from "../../platform/db/database-errors.ts";
import type { ListSource } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { listPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type DeviceJson, deviceJson } from "./devices.view.ts";

export interface DeviceRow {
  readonly version: number;
  readonly device: DeviceJson;
}

/** The columns of a device that commands need before they change it. */
export interface LockedDevice {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly active: boolean;
  readonly approval_pending: boolean;
  /** Null after the user was deleted. */
  readonly user_id: string | null;
  readonly posture: Device["posture"] | null;
  readonly tags: readonly string[];
  readonly agent: boolean;
  /** Null unless it was enrolled with an enrolment key. */
  readonly enrolment_key_id: string | null;
}

const wholeDevice = `item.version, ${deviceJson("item")} AS device`;

const source: ListSource = {
  table: "devices",
  select: wholeDevice,
  columns: {
    id: { value: "item.id" },
    name: { value: "item.name", key: "item.name_key" },
    createdAt: { value: "item.created_at" },
    lastConnection: { value: "item.last_connection", nullable: true },
    hardwareId: { value: "item.hardware_id" },
    active: { value: "item.active" },
    inactiveSince: { value: "coalesce(item.last_connection, item.created_at)" },
    hasConnected: { value: "(item.last_connection IS NOT NULL)" },
    approval: { value: `CASE WHEN item.approval_pending THEN 'pending' END` },
    enrolmentKey: { value: "item.enrolment_key_id" },
    "user.id": { value: "item.user_id" },
  },
};

const selectMany = statement<DeviceRow, [tenantId: string, ids: readonly string[]]>(
  "devices.read",
  `SELECT ${wholeDevice} FROM devices AS item
   WHERE item.tenant_id = $1 AND item.id = ANY ($2::uuid[]) ORDER BY item.id`,
);
const selectOfUsers = statement<DeviceRow, [tenantId: string, userIds: readonly string[]]>(
  "devices.lock_of_users",
  `SELECT ${wholeDevice} FROM devices AS item
   WHERE item.tenant_id = $1 AND item.user_id = ANY ($2::uuid[]) ORDER BY item.id FOR UPDATE OF item`,
);
const selectOfUser = statement<DeviceRow, [tenantId: string, userId: string]>(
  "devices.read_of_user",
  `SELECT ${wholeDevice} FROM devices AS item
   WHERE item.tenant_id = $1 AND item.user_id = $2 ORDER BY item.name_key, item.id`,
);
const selectForChange = statement<LockedDevice, [tenantId: string, id: string]>(
  "devices.lock",
  // FOR UPDATE reads the latest committed row: after waiting for the user's deletion, the row has no user.
  `SELECT id, version, name, active, approval_pending, user_id, posture, tags, agent, enrolment_key_id
   FROM devices WHERE tenant_id = $1 AND id = $2 FOR UPDATE`,
);
const setActive = statement<never, [tenantId: string, id: string, at: Date, active: boolean]>(
  "devices.set_active",
  `UPDATE devices SET updated_at = $3, version = version + 1, active = $4, approval_pending = approval_pending AND NOT $4
   WHERE tenant_id = $1 AND id = $2`,
);
const setName = statement<never, [tenantId: string, id: string, at: Date, name: string]>(
  "devices.set_name",
  "UPDATE devices SET updated_at = $3, version = version + 1, name = $4 WHERE tenant_id = $1 AND id = $2",
);
const setPosture = statement<never, [tenantId: string, id: string, at: Date, posture: string]>(
  "devices.set_posture",
  "UPDATE devices SET updated_at = $3, version = version + 1, posture = $4 WHERE tenant_id = $1 AND id = $2",
);
const setTags = statement<never, [tenantId: string, id: string, at: Date, tags: readonly string[]]>(
  "devices.set_tags",
  "UPDATE devices SET updated_at = $3, version = version + 1, tags = $4 WHERE tenant_id = $1 AND id = $2",
);
const remove = statement<never, [tenantId: string, id: string]>(
  "devices.delete",
  "DELETE FROM devices WHERE tenant_id = $1 AND id = $2",
);
const countOfUser = statement<{ count: number }, [tenantId: string, userId: string]>(
  "devices.count_of_user",
  "SELECT count(*) AS count FROM devices WHERE tenant_id = $1 AND user_id = $2",
);
const insert = statement<
  never,
  [
    tenantId: string,
    id: string,
    at: Date,
    name: string,
    userId: string,
    hardwareId: string,
    publicKey: string,
    appVersion: string,
    os: string,
    osVersion: string,
    posture: string | null,
    approvalPending: boolean,
    tags: readonly string[],
    enrolmentKeyId: string | null,
    agent: boolean,
    keyProved: boolean,
  ]
>(
  "devices.insert",
  `INSERT INTO devices (tenant_id, id, created_at, updated_at, name, user_id, hardware_id, public_key, app_version, os,
                        os_version, posture, approval_pending, active, tags, enrolment_key_id, agent, key_proved)
   VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, NOT $12, $13, $14, $15, $16)`,
);
const orphan = statement<never, [tenantId: string, ids: readonly string[], at: Date]>(
  "devices.orphan",
  `UPDATE devices SET active = false, user_id = NULL, updated_at = $3, version = version + 1
   WHERE tenant_id = $1 AND id = ANY ($2::uuid[])`,
);

export function listDevices(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly rows: DeviceRow[]; readonly total: number }> {
  return listPage(tx, source, query);
}

/** The devices that exist, ordered by id. */
export function readDevices(tx: TenantTx, ids: readonly string[]): Promise<DeviceRow[]> {
  return ids.length === 0 ? Promise.resolve([]) : tx.query(selectMany, tx.tenantId, ids);
}

/** The devices of a user, ordered by name. */
export function readDevicesOfUser(tx: TenantTx, userId: string): Promise<DeviceRow[]> {
  return tx.query(selectOfUser, tx.tenantId, userId);
}

/** Reads the device. Nobody else can change it, or refer to it, before the transaction ends. */
export async function lockDevice(tx: TenantTx, id: string): Promise<LockedDevice | undefined> {
  return (await tx.query(selectForChange, tx.tenantId, id))[0];
}

/** Devices of the users. Nobody else can change them before the transaction ends. */
export function lockDevicesOfUsers(tx: TenantTx, userIds: readonly string[]): Promise<DeviceRow[]> {
  return tx.query(selectOfUsers, tx.tenantId, userIds);
}

/** The number of the user's devices, including deactivated ones. */
export async function countDevicesOfUser(tx: TenantTx, userId: string): Promise<number> {
  return (await tx.query(countOfUser, tx.tenantId, userId))[0]?.count ?? 0;
}

export interface NewDevice {
  readonly id: string;
  readonly name: string;
  readonly userId: string;
  readonly hardwareId: string;
  readonly publicKey: string;
  readonly appVersion: string;
  readonly os: string;
  readonly osVersion: string;
  readonly posture: Device["posture"];
  /** Whether the device waits for an administrator. */
  readonly approvalPending?: boolean | undefined;
  readonly tags?: readonly string[] | undefined;
  /** The key that enrols the device. */
  readonly enrolmentKeyId?: string | undefined;
  /** False for a device with another WireGuard app. True by default. */
  readonly agent?: boolean | undefined;
  /** Whether possession of the private key has been proved. */
  readonly keyProved?: boolean | undefined;
}

/** @throws AppError device_key_taken */
export async function insertDevice(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  device: NewDevice,
  at: Date,
): Promise<void> {
  const {
    id,
    name,
    userId,
    hardwareId,
    publicKey,
    appVersion,
    os,
    osVersion,
    posture,
    approvalPending = false,
    tags = [],
    enrolmentKeyId = null,
    agent = true,
    keyProved = false,
  } = device;
  const facts = posture === undefined ? null : JSON.stringify(posture);
  const keyTaken = () =>
    new AppError("device_key_taken", {
      detail: `Another device has the public key ${publicKey}.`,
      errors: [{ pointer: "/publicKey", message: "is taken" }],
    });
  await withConstraints(
    { devices_public_key_unique: keyTaken },
    tx.query(
      insert,
      tx.tenantId,
      id,
      at,
      name,
      userId,
      hardwareId,
      publicKey,
      appVersion,
      os,
      osVersion,
      facts,
      approvalPending,
      tags,
      enrolmentKeyId,
      agent,
      keyProved,
    ),
  );
}

/** Sets the flag of the device itself. The status of its user is independent of it. */
export async function setDeviceActive(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  id: string,
  active: boolean,
  at: Date,
): Promise<void> {
  await tx.query(setActive, tx.tenantId, id, at, active);
}

export async function setDeviceName(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  id: string,
  name: string,
  at: Date,
): Promise<void> {
  await tx.query(setName, tx.tenantId, id, at, name);
}

export async function setDevicePosture(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  id: string,
  posture: NonNullable<Device["posture"]>,
  at: Date,
): Promise<void> {
  await tx.query(setPosture, tx.tenantId, id, at, JSON.stringify(posture));
}

export async function setDeviceTags(
  tx: TenantTx,
  _granted: Granted<"devices:write">,
  id: string,
  tags: readonly string[],
  at: Date,
): Promise<void> {
  await tx.query(setTags, tx.tenantId, id, at, tags);
}

export async function deleteDevice(tx: TenantTx, _granted: Granted<"devices:write">, id: string): Promise<void> {
  await tx.query(remove, tx.tenantId, id);
}

/** Deactivates devices and removes their users. */
export async function orphanDevices(
  tx: TenantTx,
  _granted: Granted<"users:write">,
  ids: readonly string[],
  at: Date,
): Promise<void> {
  await tx.query(orphan, tx.tenantId, ids, at);
}
