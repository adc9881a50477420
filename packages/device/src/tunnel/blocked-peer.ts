/**
 * Blocked addresses have a WireGuard peer of their own, without an endpoint. WireGuard drops their packets, even if a
 * gateway carries all internet traffic, and the kernel reports "host unreachable" to the sender. Connections can still
 * finish at a draining gateway, because the routes stay in the tunnel.
 */
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";

export const blockedId = "blocked";

/** The SHA-256 hash of "gatehouse: blocked addresses". Nobody knows a private key for it. */
export const blockedKey = "8l53ofbWAMBp5xVC1s7XUQcVqI/728G4vv2NcitnJy4=";

/** Returns the gateways of a configuration, then the blocked addresses as a gateway that cannot be reached. */
export function gatewaysAndBlocked({ gateways, blocked }: DeviceConfiguration): readonly DeviceGateway[] {
  if (blocked === undefined) return gateways;
  const { addresses: allowedIps, names } = blocked;
  return [...gateways, { gateway: blockedId, publicKey: blockedKey, addresses: [], relays: [], allowedIps, names }];
}
