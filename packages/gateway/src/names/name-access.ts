/** Decides which names a device may resolve: those of destinations that the device may reach now. */

import { canonicalAddress } from "@gatehouse/addresses/ip-block";
import { destinationOfName } from "@gatehouse/agent-core/dns/named-services";
import {
  type ConfigurationContent,
  type DeviceRule,
  everyDevice,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { isOpen } from "../configuration/time-windows.ts";

/** If `destination`, the filters must have the addresses before the device receives the response. */
export type NameAccess = "destination" | "internet" | "refused";

/**
 * @param device the key of a peer
 * @param now milliseconds since 1970
 */
export function nameAccess(content: ConfigurationContent, device: string, name: string, now: number): NameAccess {
  const key = destinationOfName(content, name);
  const destination = key === undefined ? undefined : content.destinations[key];
  if (destination === undefined) return mayUseInternet(content, device, now) ? "internet" : "refused";
  const isReachable = destination.services.some(({ resource }) => {
    const rules = resource === undefined ? undefined : content.resources[resource];
    return rules !== undefined && isAllowed(content, rules.devices, device, now);
  });
  const throughInternet = destination.otherwise === "internet" && mayUseInternet(content, device, now);
  return isReachable || throughInternet ? "destination" : "refused";
}

/** Returns the key of the device with a tunnel address. */
export function deviceAt(content: ConfigurationContent, address: string): string | undefined {
  if (!address.includes(":")) return content.peers[address]?.kind === "device" ? address : undefined;
  // Sockets report canonical addresses.
  return devicesByIpv6(content).get(address);
}

const byIpv6 = new WeakMap<ConfigurationContent, ReadonlyMap<string, string>>();

function devicesByIpv6(content: ConfigurationContent): ReadonlyMap<string, string> {
  let devices = byIpv6.get(content);
  if (devices === undefined) {
    devices = new Map(
      Object.entries(content.peers).flatMap(([key, peer]) =>
        peer.kind === "device" ? [[canonicalAddress(peer.ipv6) ?? peer.ipv6, key]] : [],
      ),
    );
    byIpv6.set(content, devices);
  }
  return devices;
}

function mayUseInternet(content: ConfigurationContent, device: string, now: number): boolean {
  return isAllowed(content, content.settings.internet?.devices ?? [], device, now);
}

function isAllowed(content: ConfigurationContent, rules: readonly DeviceRule[], device: string, now: number): boolean {
  const isMember = (key: string) => {
    if (key === everyDevice) return true;
    const membership = content.classes[key]?.[device];
    return membership !== undefined && isOpen(membership, now);
  };
  const deciding = rules.find(({ classes, windows }) => isOpen(windows, now) && classes.some(isMember));
  return deciding?.action === "allow";
}
