/**
 * Unserved addresses have a WireGuard peer of their own, without an endpoint. WireGuard drops their packets, even if a
 * gateway carries all internet traffic, and the kernel reports "host unreachable" to the sender. Connections can still
 * finish at a draining gateway, because the routes stay in the tunnel.
 */
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";

export const unservedId = "unserved";

/** The SHA-256 hash of "gatehouse: unserved addresses". Nobody knows a private key for it. */
export const unservedKey = "U8m2Zypbbs/Mad0lN0vyhoaJ3k4gVK4Zk+Qx1x9lDxA=";

/** Returns the gateways of a configuration, then the unserved addresses as a gateway that cannot be reached. */
export function gatewaysAndUnserved({ gateways, unserved }: DeviceConfiguration): readonly DeviceGateway[] {
  if (unserved === undefined) return gateways;
  const { addresses: allowedIps, names } = unserved;
  return [...gateways, { gateway: unservedId, publicKey: unservedKey, addresses: [], relays: [], allowedIps, names }];
}
