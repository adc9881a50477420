import type * as operations from "@gatehouse/contract/operations/devices.operations";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { configuringDevice, type RoutedDevice } from "@gatehouse/policy/enforcement/device-routes";
import type { Work } from "@gatehouse/policy/work";
import { giveTunnelAddresses, readDeviceLinkRows } from "../../agent-identity/link-facts.queries.ts";
import { routeInputsOf } from "../../agent-identity/link-facts.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Call } from "../../platform/call.ts";
import { empty, type Outcome, report } from "../../platform/outcome.ts";
import { latestValidTime } from "../../platform/stored-times.ts";
import { readDevices } from "./devices.queries.ts";

type ReadCall = Call<typeof operations.readDeviceConfiguration>;

export async function readDeviceConfiguration(call: ReadCall): Promise<Outcome> {
  const routes = await routesOfDevice(call, call.parameters.id, (work) => call.evaluate("The routes", work));
  return report(routes);
}

/**
 * The routes of a device now.
 *
 * @param evaluate evaluates within the budget of the caller
 * @param presumedSource the source address of a device that nobody has observed
 * @throws AppError not_found, and errors of `evaluate`
 */
export async function routesOfDevice(
  call: Pick<ReadCall, "model" | "read" | "command" | "now">,
  id: string,
  evaluate: <Result>(work: Work<Result>) => Promise<Result>,
  presumedSource?: string,
): Promise<DeviceConfiguration> {
  const { model } = await call.model();
  const read = () => call.read((tx) => Promise.all([readDevices(tx, [id]), readDeviceLinkRows(tx, [id])]));
  let [[device], rows] = await read();
  if (device === undefined) throw new AppError("not_found");
  if (rows.devices.length === 0) {
    // The device is older than tunnel addresses and gets its address now.
    await call.command(async (tx) => {
      await giveTunnelAddresses(tx);
      return empty();
    });
    [[device], rows] = await read();
  }
  const { devices, gateways } = routeInputsOf(rows, latestValidTime(call.now));
  const presumed = [...devices].map(([key, routed]) => [key, presumeSource(routed, presumedSource)] as const);
  const inputs = { devices: new Map(presumed), gateways };
  const configuration = await evaluate(configuringDevice(model, inputs, id, call.now.getTime()));
  if (device === undefined || configuration === undefined) throw new AppError("not_found");
  return configuration;
}

/** The device, with a source address if nobody has observed one. An app never connects to the control plane. */
function presumeSource(routed: RoutedDevice, address: string | undefined): RoutedDevice {
  const { controlPlane, gateways } = routed.sources;
  if (address === undefined || controlPlane !== null || gateways.size > 0) return routed;
  return { ...routed, sources: { controlPlane: { address, at: 0 }, gateways } };
}
