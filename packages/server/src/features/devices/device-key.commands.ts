import type * as operations from "@gatehouse/contract/operations/devices.operations";
import type { Call } from "../../platform/call.ts";
import { keyResetUntil } from "../../platform/known-keys.ts";
import type { Outcome } from "../../platform/outcome.ts";
import { allowDeviceKeyReset } from "./device-keys.queries.ts";
import { changeDevice } from "./devices.commands.ts";

/** Allows the device's agent to replace its key once (docs/decisions/0104). */
export function resetDeviceKey(call: Call<typeof operations.resetDeviceKey>): Promise<Outcome> {
  return changeDevice(call, (tx, { id }) =>
    allowDeviceKeyReset(tx, call.granted, id, keyResetUntil(call.now), call.now),
  );
}
