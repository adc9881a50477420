/** What becomes of devices when their user is deleted. */
import type { Granted } from "../../platform/authorization/granted.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import * as queries from "./devices.queries.ts";
import { deviceView } from "./devices.view.ts";

/** Deactivates every device of the user, takes the user off it, and records the change of each. */
export async function disownDevices(
  tx: CommandTx,
  granted: Granted<"users:write">,
  userId: string,
  at: Date,
): Promise<void> {
  await disown(tx, granted, await queries.lockDevicesOfUser(tx, userId), at);
}

/** As `disownDevices`, for many users at once. */
export async function disownDevicesOfUsers(
  tx: CommandTx,
  granted: Granted<"users:write">,
  userIds: readonly string[],
  at: Date,
): Promise<void> {
  await disown(tx, granted, await queries.lockDevicesOfUsers(tx, userIds), at);
}

async function disown(
  tx: CommandTx,
  granted: Granted<"users:write">,
  before: readonly queries.DeviceRow[],
  at: Date,
): Promise<void> {
  if (before.length === 0) return;
  const ids = before.map(({ device }) => device.id);
  await queries.disownDevices(tx, granted, ids, at);
  const after = new Map((await queries.readDevices(tx, ids)).map(({ device }) => [device.id, device]));
  for (const { device } of before) {
    const changed = after.get(device.id) ?? device;
    tx.record({
      type: "device",
      id: device.id,
      name: device.name,
      before: deviceView(device, at),
      after: deviceView(changed, at),
    });
  }
}
