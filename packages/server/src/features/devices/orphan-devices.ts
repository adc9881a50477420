import type { Granted } from "../../platform/authorization/granted.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import type { ReferenceHolder } from "../references/references.api.ts";
import * as queries from "./devices.queries.ts";
import { deviceView } from "./devices.view.ts";

/** References that devices hold: the devices of a deleted user become orphans. */
export const deviceReferences: ReferenceHolder = {
  user: { remove: (tx, granted, { id }, at) => orphanDevices(tx, granted, [id], at) },
};

/**
 * Deactivates all devices of users who are about to be deleted, removes the users from them, and records the changes.
 */
export async function orphanDevices(
  tx: CommandTx,
  granted: Granted<"users:write">,
  userIds: readonly string[],
  at: Date,
): Promise<void> {
  const before = await queries.lockDevicesOfUsers(tx, userIds);
  if (before.length === 0) return;
  const ids = before.map(({ device }) => device.id);
  await queries.orphanDevices(tx, granted, ids, at);
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
