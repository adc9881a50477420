import type { DeviceStatus } from "@gatehouse/contract/records/device";
import type { UserStatus } from "@gatehouse/contract/records/user";

/**
 * The time after the last handshake for which a device counts as connected, in milliseconds (contract, "Status
 * transitions").
 */
const onlineForMs = 180_000;

/** The device limit if neither the user nor a group sets one (contract, "Operations"). */
const defaultDeviceLimit = 5;

export interface DeviceState {
  readonly active: boolean;
  /** Null after the user was deleted. */
  readonly userStatus: UserStatus | null;
  /** ISO 8601; undefined before the first connection. */
  readonly lastConnection: string | undefined;
}

/** The `status` of a device (contract, "Status transitions"). */
export function deviceStatus({ active, userStatus, lastConnection }: DeviceState, now: Date): DeviceStatus {
  if (!active || userStatus === null || userStatus === "inactive") return "Deactivated";
  if (lastConnection === undefined) return "Offline";
  return now.getTime() - Date.parse(lastConnection) <= onlineForMs ? "Online" : "Offline";
}

/** The time at which the `status` changes although nothing is written, in milliseconds; Infinity if never. */
export function deviceStatusChangesAt(device: DeviceState, now: Date): number {
  if (device.lastConnection === undefined || deviceStatus(device, now) !== "Online") return Number.POSITIVE_INFINITY;
  return Date.parse(device.lastConnection) + onlineForMs + 1;
}

export interface DeviceLimits {
  /** The user's maxDevices; null if the groups determine the limit. */
  readonly ofUser: number | null;
  /** The largest maxDevices of the user's groups; null for a user without groups. */
  readonly ofGroups: number | null;
}

/** The number of devices that a user may have (contract, "Operations"). */
export function deviceLimit({ ofUser, ofGroups }: DeviceLimits): number {
  return ofUser ?? ofGroups ?? defaultDeviceLimit;
}
