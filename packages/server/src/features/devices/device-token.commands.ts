import type * as operations from "@gatehouse/contract/operations/devices.operations";
import type { Call } from "../../platform/call.ts";
import { type Outcome, record } from "../../platform/outcome.ts";
import { generateToken, hashToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { replaceDeviceToken } from "./device-token.queries.ts";
import { lockForChange, requireDevice } from "./devices.commands.ts";
import { deviceView } from "./devices.view.ts";

export async function rotateDeviceToken(call: Call<typeof operations.rotateDeviceToken>): Promise<Outcome> {
  return call.command(async (tx) => {
    const { id, name } = await lockForChange(call, tx);
    const before = await requireDevice(tx, id);
    const token = generateToken(tokenPrefixes.device);
    await replaceDeviceToken(tx, call.granted, id, hashToken(token), call.now);
    const after = await requireDevice(tx, id);
    const [earlier, later] = [deviceView(before.device, call.now), deviceView(after.device, call.now)];
    tx.record({ type: "device", id, name, before: earlier, after: later });
    return record({ token }, after.version);
  });
}
