import type * as operations from "@gatehouse/contract/operations/devices.operations";
import { deviceConfiguration } from "@gatehouse/policy/enforcement/device-routes";
import { giveTunnelAddresses, readDeviceLinkRows } from "../../agents/tunnels/link-facts.queries.ts";
import { deviceWaysOf } from "../../agents/tunnels/link-facts.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { empty, type Outcome, report } from "../../platform/outcome.ts";
import { readDevices } from "./devices.queries.ts";

export async function readDeviceConfiguration(call: Call<typeof operations.readDeviceConfiguration>): Promise<Outcome> {
  const { id } = call.parameters;
  const { model } = await call.model();
  const read = () => call.read((tx) => Promise.all([readDevices(tx, [id]), readDeviceLinkRows(tx, [id])]));
  let [[device], rows] = await read();
  if (device === undefined) throw new AppError("not_found");
  if (rows.devices.length === 0) {
    // There from before there were addresses: it has one from now on.
    await call.command(async (tx) => {
      await giveTunnelAddresses(tx);
      return empty();
    });
    [[device], rows] = await read();
  }
  const ways = deviceWaysOf(rows);
  const configuration = deviceConfiguration(model, ways, id, call.now.getTime());
  if (device === undefined || configuration === undefined) throw new AppError("not_found");
  return report(configuration);
}
