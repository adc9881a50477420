/** The devices of the signed-in person. A device of another person is treated like a missing one. */
import type * as operations from "@gatehouse/contract/operations/my.operations";
import type { Myself } from "@gatehouse/contract/records/my-access";
import { AppError } from "../../platform/app-error.ts";
import { grantedToSystem } from "../../platform/authorization/granted.ts";
import { requirePerson } from "../../platform/authorization/recent-authentication.ts";
import type { Call } from "../../platform/call.ts";
import { empty, type Outcome, record, report, wholeArray } from "../../platform/outcome.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import {
  countDevicesOfUser,
  type DeviceRow,
  deleteDevice,
  deviceLimit,
  deviceView,
  type LockedDevice,
  lockDevice,
  readDevices,
  readDevicesOfUser,
  setDeviceName,
} from "../devices/devices.api.ts";
import { largestDeviceLimit } from "../groups/groups.api.ts";
import { readSignedInUser } from "../sessions/sessions.api.ts";
import { readDeviceLimitOfUser } from "../users/users.api.ts";

export async function readMyself(call: Call<typeof operations.readMyself>): Promise<Outcome> {
  const { userId } = requirePerson(call);
  const [user, devices, ofUser, ofGroups] = await call.read((tx) =>
    Promise.all([
      readSignedInUser(tx, userId),
      countDevicesOfUser(tx, userId),
      readDeviceLimitOfUser(tx, userId),
      largestDeviceLimit(tx, userId),
    ]),
  );
  if (user === undefined) throw new AppError("not_found");
  const { sourceAddress } = call.origin;
  const { id, email, firstName, lastName, tenantName: organisation } = user;
  const myself: Myself = {
    id,
    email,
    ...(firstName === "" ? {} : { firstName }),
    ...(lastName === "" ? {} : { lastName }),
    organisation,
    devices,
    deviceLimit: deviceLimit({ ofUser, ofGroups }),
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
  };
  return report(myself);
}

export async function listMyDevices(call: Call<typeof operations.listMyDevices>): Promise<Outcome> {
  const { userId } = requirePerson(call);
  const rows = await call.read((tx) => readDevicesOfUser(tx, userId));
  return wholeArray(rows.map(({ device }) => deviceView(device, call.now)));
}

export async function readMyDevice(call: Call<typeof operations.readMyDevice>): Promise<Outcome> {
  const { userId } = requirePerson(call);
  const [row] = await call.read((tx) => readDevices(tx, [call.parameters.id]));
  if (row === undefined || row.device.user?.id !== userId) throw new AppError("not_found");
  return record(deviceView(row.device, call.now), row.version);
}

export async function renameMyDevice(call: Call<typeof operations.renameMyDevice>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { row, before } = await lockOwnDevice(call, tx);
    const { name } = call.body;
    if (name === row.name) return record(deviceView(before.device, call.now), before.version);
    await setDeviceName(tx, grantedToSystem<"devices:write">(), row.id, name, call.now);
    const [after] = await readDevices(tx, [row.id]);
    if (after === undefined) throw new AppError("not_found");
    const view = deviceView(after.device, call.now);
    tx.record({ type: "device", id: row.id, name, before: deviceView(before.device, call.now), after: view });
    return record(view, after.version);
  });
}

export async function removeMyDevice(call: Call<typeof operations.removeMyDevice>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { row, before } = await lockOwnDevice(call, tx);
    const granted = grantedToSystem<"devices:write">();
    await call.references.remove(tx, granted, { noun: "device", id: row.id, name: row.name }, call.now);
    await deleteDevice(tx, granted, row.id);
    tx.record({ type: "device", id: row.id, name: row.name, before: deviceView(before.device, call.now) });
    return empty();
  });
}

type DeviceCall = Pick<Call<typeof operations.removeMyDevice>, "parameters" | "requireVersion" | "session">;

/** @throws AppError not_found, precondition_failed */
export async function lockOwnDevice(
  call: DeviceCall,
  tx: TenantTx,
): Promise<{ readonly row: LockedDevice; readonly before: DeviceRow }> {
  const { userId } = requirePerson(call);
  const row = await lockDevice(tx, call.parameters.id);
  if (row === undefined || row.user_id !== userId) throw new AppError("not_found");
  call.requireVersion(row.version);
  const [before] = await readDevices(tx, [row.id]);
  if (before === undefined) throw new AppError("not_found");
  return { row, before };
}
