import type * as operations from "@gatehouse/contract/operations/devices.operations";
import type { Device } from "@gatehouse/contract/records/device";
import type { Granted } from "../../platform/authorization/granted.ts";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import type { CommandTx } from "../../platform/tenancy/tenant-tx.ts";
import { replaceDeviceToken } from "./device-token.queries.ts";
import { lockForChange, requireDevice } from "./devices.commands.ts";
import { deviceView } from "./devices.view.ts";

export async function rotateDeviceToken(call: Call<typeof operations.rotateDeviceToken>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { id } = await lockForChange(call, tx);
    const { token, version } = await issueDeviceToken(tx, call.granted, id, call.now);
    return record({ token }, version);
  });
}

/**
 * Replaces the token of a device, and records that. The device must be locked, or have been inserted in this
 * transaction.
 */
export async function issueDeviceToken(
  tx: CommandTx,
  granted: Granted<"devices:write">,
  id: string,
  now: Date,
): Promise<{ readonly token: string; readonly version: number; readonly view: Device }> {
  const before = await requireDevice(tx, id);
  const token = generateToken(tokenPrefixes.device);
  await replaceDeviceToken(tx, granted, id, hashToken(token), now);
  const after = await requireDevice(tx, id);
  const [earlier, later] = [deviceView(before.device, now), deviceView(after.device, now)];
  tx.record({ type: "device", id, name: later.name, before: earlier, after: later });
  return { token, version: after.version, view: later };
}
