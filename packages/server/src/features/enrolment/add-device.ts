/** Adds a device of a user: by an administrator's request, or when the user signs in on the device. */
import type { Device } from "@gatehouse/contract/records/device";
import { type KeyWeakness, keyWeakness } from "@gatehouse/contract/wireguard-keys";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Granted } from "../../platform/authorization/granted.ts";
import { newId } from "../../platform/ids.ts";
import type { CommandTx, TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import {
  countDevicesOfUser,
  deviceLimit,
  deviceView,
  insertDevice,
  type NewDeviceSession,
  readDevices,
  storeDeviceSession,
} from "../devices/devices.api.ts";
import { gatewaysWithKeys } from "../gateways/gateways.api.ts";
import { largestDeviceLimit } from "../groups/groups.api.ts";
import { activateUser, type EnrollingUser, lockUserForEnrolment, requireEnrollable } from "../users/users.api.ts";

/** The properties of a device that is enrolled. */
export interface EnrollingDevice {
  readonly name: string;
  readonly userId: string;
  readonly hardwareId: string;
  readonly publicKey: string;
  readonly appVersion?: string | undefined;
  readonly os?: string | undefined;
  readonly osVersion?: string | undefined;
  readonly posture?: Device["posture"] | undefined;
  /** Whether an administrator must approve the device. */
  readonly approvalPending?: boolean;
  readonly tags?: readonly string[] | undefined;
  /** The key with which the device is enrolled. */
  readonly enrolmentKeyId?: string | undefined;
  /** False for a device with another WireGuard app. True by default. */
  readonly agent?: boolean | undefined;
  /** Whether possession of the private key has been proved. */
  readonly keyProved?: boolean | undefined;
  /** Present if the user signed in on the device. */
  readonly session?: NewDeviceSession;
}

const weaknesses: Readonly<Record<KeyWeakness, string>> = {
  low_order: "is of small order",
  not_canonical: "is not the canonical encoding of its point",
};

/** @throws AppError invalid_body */
export function requireUsableKey({ publicKey }: EnrollingDevice): void {
  const weakness = keyWeakness(publicKey);
  if (weakness === undefined) return;
  const problem = `${weaknesses[weakness]}; generate a new key pair with wg genkey and wg pubkey`;
  const errors = [bodyField("/publicKey", problem)];
  throw new AppError("invalid_body", { errors });
}

/**
 * Inserts the device, and records it.
 *
 * @throws AppError unknown_reference, user_deactivated, invitation_expired, device_limit_reached, device_key_taken
 */
export async function addDevice(
  tx: CommandTx,
  granted: Granted<"devices:write">,
  enrolled: EnrollingDevice,
  now: Date,
): Promise<{ readonly id: string; readonly view: Device; readonly version: number }> {
  requireUsableKey(enrolled);
  const {
    name,
    userId,
    hardwareId,
    publicKey,
    appVersion = "",
    os = "",
    osVersion = "",
    posture,
    approvalPending,
    tags,
    enrolmentKeyId,
    agent,
    keyProved,
  } = enrolled;
  const user = await lockUserForEnrolment(tx, userId);
  if (user === undefined) {
    const errors = [bodyField("/userId", `no user has the id ${JSON.stringify(userId)}`)];
    throw new AppError("unknown_reference", { errors });
  }
  requireEnrollable(user, now);
  await requireRoomForDevice(tx, user);
  const [owner] = await gatewaysWithKeys(tx, [publicKey]);
  if (owner !== undefined) {
    const errors = [bodyField("/publicKey", "is taken")];
    throw new AppError("device_key_taken", { detail: `A gateway has the public key ${publicKey}.`, errors });
  }
  if (user.status === "pending") await activateUser(tx, granted, user.id, now);
  const id = newId();
  const device = {
    id,
    name,
    userId: user.id,
    hardwareId,
    publicKey,
    appVersion,
    os,
    osVersion,
    posture,
    approvalPending,
    tags,
    enrolmentKeyId,
    agent,
    keyProved,
  };
  await insertDevice(tx, granted, device, now);
  if (enrolled.session !== undefined) await storeDeviceSession(tx, id, enrolled.session, now);
  const [row] = await readDevices(tx, [id]);
  if (row === undefined) throw new Error(`the device ${id} is missing within its own transaction`);
  const view = deviceView(row.device, now);
  tx.record({ type: "device", id, name, after: view });
  return { id, view, version: row.version };
}

/** @throws AppError device_limit_reached */
async function requireRoomForDevice(tx: TenantTx, user: EnrollingUser): Promise<void> {
  const [count, ofGroups] = await Promise.all([countDevicesOfUser(tx, user.id), largestDeviceLimit(tx, user.id)]);
  const limit = deviceLimit({ ofUser: user.max_devices, ofGroups });
  if (count < limit) return;
  throw new AppError("device_limit_reached", {
    detail: `${user.email} has ${count} devices, including deactivated ones. The limit is ${limit}. Delete a device first, or raise the limit.`,
    errors: [bodyField("/userId", `may have at most ${limit} devices`)],
  });
}
