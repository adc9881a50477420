import type * as operations from "@gatehouse/contract/operations/devices.operations";
import { isLowOrderKey } from "@gatehouse/contract/wireguard-keys";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { newId } from "../../platform/ids.ts";
import { created, type Outcome } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { countDevicesOfUser, deviceLimit, deviceView, insertDevice, readDevices } from "../devices/devices.api.ts";
import { gatewaysWithKeys } from "../gateways/gateways.api.ts";
import { largestDeviceLimit } from "../groups/groups.api.ts";
import { activateUser, type EnrollingUser, lockUserForEnrolment, requireEnrollable } from "../users/users.api.ts";

export async function enrolDevice(call: Call<typeof operations.enrolDevice>): Promise<Outcome> {
  const { name, userId, hardwareId, publicKey, appVersion = "", os = "", osVersion = "", posture } = call.body;
  if (isLowOrderKey(publicKey)) {
    const errors = [bodyField("/publicKey", "is of small order; generate a new key pair with wg genkey and wg pubkey")];
    throw new AppError("invalid_body", { errors });
  }
  return call.command(async (tx) => {
    const user = await lockUserForEnrolment(tx, userId);
    if (user === undefined) {
      const errors = [bodyField("/userId", `no user has the id ${JSON.stringify(userId)}`)];
      throw new AppError("unknown_reference", { errors });
    }
    requireEnrollable(user, call.now);
    await requireRoomForDevice(tx, user);
    const [owner] = await gatewaysWithKeys(tx, [publicKey]);
    if (owner !== undefined) {
      const errors = [bodyField("/publicKey", "is taken")];
      throw new AppError("device_key_taken", { detail: `A gateway has the public key ${publicKey}.`, errors });
    }
    if (user.status === "pending") await activateUser(tx, call.granted, user.id, call.now);
    const id = newId();
    const device = { id, name, userId: user.id, hardwareId, publicKey, appVersion, os, osVersion, posture };
    await insertDevice(tx, call.granted, device, call.now);
    const [row] = await readDevices(tx, [id]);
    if (row === undefined) throw new Error(`the device ${id} is missing within its own transaction`);
    const view = deviceView(row.device, call.now);
    tx.record({ type: "device", id, name, after: view });
    return created(view, row.version, `/tenants/devices/${id}`);
  });
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
