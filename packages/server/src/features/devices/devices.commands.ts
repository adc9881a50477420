import type * as operations from "@gatehouse/contract/operations/devices.operations";
import { AppError, bodyField } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { pageOfItems } from "../../platform/db/list-statement.ts";
import { newId } from "../../platform/ids.ts";
import { created, type Outcome, record } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { largestDeviceLimit } from "../groups/groups.api.ts";
import { activateUser, type EnrollingUser, lockUserForEnrolment, requireEnrollable } from "../users/users.api.ts";
import * as queries from "./devices.queries.ts";
import { deviceLimit } from "./devices.rules.ts";
import { deviceView } from "./devices.view.ts";

export async function listDevices(call: Call<typeof operations.listDevices>): Promise<Outcome> {
  const { rows, total } = await call.read((tx) => queries.listDevices(tx, call.listQuery));
  const items = rows.map(({ device }) => deviceView(device, call.now));
  return { kind: "page", page: pageOfItems(call.listQuery, items, total) };
}

export async function readDevice(call: Call<typeof operations.readDevice>): Promise<Outcome> {
  const [row] = await call.read((tx) => queries.readDevices(tx, [call.parameters.id]));
  if (row === undefined) throw new AppError("not_found");
  return record(deviceView(row.device, call.now), row.version);
}

export async function enrolDevice(call: Call<typeof operations.enrolDevice>): Promise<Outcome> {
  const { name, userId, hardwareId, publicKey, appVersion = "", os = "", osVersion = "", posture } = call.body;
  return call.command(async (tx) => {
    const user = await lockUserForEnrolment(tx, userId);
    if (user === undefined) {
      const errors = [bodyField("/userId", `no user has the id ${JSON.stringify(userId)}`)];
      throw new AppError("unknown_reference", { errors });
    }
    requireEnrollable(user, call.now);
    await requireRoomForDevice(tx, user);
    if (user.status === "pending") await activateUser(tx, call.granted, user.id, call.now);
    const id = newId();
    const device = { id, name, userId: user.id, hardwareId, publicKey, appVersion, os, osVersion, posture };
    await queries.insertDevice(tx, call.granted, device, call.now);
    const [row] = await queries.readDevices(tx, [id]);
    if (row === undefined) throw new Error(`the device ${id} is gone within its own transaction`);
    const view = deviceView(row.device, call.now);
    tx.record({ type: "device", id, name, after: view });
    return created(view, row.version, `/tenants/devices/${id}`);
  });
}

/** @throws AppError device_limit_reached */
async function requireRoomForDevice(tx: TenantTx, user: EnrollingUser): Promise<void> {
  const [count, ofGroups] = await Promise.all([
    queries.countDevicesOfUser(tx, user.id),
    largestDeviceLimit(tx, user.id),
  ]);
  const limit = deviceLimit({ ofUser: user.max_devices, ofGroups });
  if (count < limit) return;
  throw new AppError("device_limit_reached", {
    detail: `${user.email} has ${count} devices and may have ${limit}; deactivated ones count.`,
    errors: [bodyField("/userId", `may have ${limit} devices`)],
  });
}
