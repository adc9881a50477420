import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import type { Model } from "@gatehouse/policy/model/model";

/**
 * Whether changes of gateways can change the routes of a device. Gateways that enter service are not among them.
 *
 * A gateway that leaves service concerns only the devices with a route through it, which spares the others the
 * computation. A deleted gateway may have been the reason for unserved addresses.
 *
 * @param gateways the ids of the changed gateways
 */
export function areRoutesConcerned(
  { unserved, gateways: used }: Pick<DeviceConfiguration, "unserved" | "gateways">,
  gateways: ReadonlySet<string>,
  model: { readonly gateways: Pick<Model["gateways"], "get"> },
): boolean {
  if (used.some(({ gateway }) => gateways.has(gateway))) return true;
  return unserved !== undefined && [...gateways].some((id) => model.gateways.get(id) === undefined);
}
