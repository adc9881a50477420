import type * as operations from "@gatehouse/contract/operations/devices.operations";
import type { Call } from "../../platform/call.ts";
import { created, type Outcome } from "../../platform/outcome.ts";
import { addDevice, requireUsableKey } from "./add-device.ts";

export async function enrolDevice(call: Call<typeof operations.enrolDevice>): Promise<Outcome> {
  requireUsableKey(call.body);
  return call.command(async (tx) => {
    const { id, view, version } = await addDevice(tx, call.granted, call.body, call.now);
    return created(view, version, `/tenants/devices/${id}`);
  });
}
