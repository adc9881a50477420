/**
 * Gateways with usable WireGuard keys. Agents refuse a configuration that contains a key twice, so a gateway that
 * reports a key of another agent must not appear in one: no record of one agent may invalidate the configuration of
 * another.
 */
import { type KeyWeakness, keyWeakness } from "@gatehouse/contract/wireguard-keys";
import type { GatewayLink } from "./links.ts";

/** Why a gateway's key cannot be used. */
export type KeyFault = KeyWeakness | "key_of_device" | "key_of_gateway";

/** Links without their keys, one for each link, so that callers can compare by identity. */
const withoutKey = new WeakMap<GatewayLink, GatewayLink>();

/**
 * Removes the keys that cannot be used. Of gateways with one key, the oldest retains it, which has the smallest id.
 * Of the encodings of one point, only the canonical one is usable, so that keys can be compared as texts.
 *
 * @param isDeviceKey whether a device has the key
 */
export function withUsableKeys(
  links: ReadonlyMap<string, GatewayLink>,
  isDeviceKey: (publicKey: string) => boolean = () => false,
): ReadonlyMap<string, GatewayLink> {
  const taken = new Set<string>();
  const refused = new Set<string>();
  for (const id of [...links.keys()].sort()) {
    const publicKey = links.get(id)?.publicKey ?? null;
    if (publicKey === null) continue;
    if (taken.has(publicKey) || isDeviceKey(publicKey) || keyWeakness(publicKey) !== undefined) refused.add(id);
    else taken.add(publicKey);
  }
  if (refused.size === 0) return links;
  return new Map([...links].map(([id, link]) => [id, refused.has(id) ? linkWithoutKey(link) : link]));
}

/** Checks a key that a gateway reports. @returns undefined if the gateway may have it */
export function keyFault(
  gatewayId: string,
  publicKey: string,
  links: {
    readonly devices: ReadonlyMap<string, { readonly publicKey: string }>;
    readonly gateways: ReadonlyMap<string, GatewayLink>;
  },
): KeyFault | undefined {
  const weakness = keyWeakness(publicKey);
  if (weakness !== undefined) return weakness;
  for (const device of links.devices.values()) if (device.publicKey === publicKey) return "key_of_device";
  for (const [id, link] of links.gateways) {
    if (id !== gatewayId && link.publicKey === publicKey) return "key_of_gateway";
  }
  return undefined;
}

function linkWithoutKey(link: GatewayLink): GatewayLink {
  const known = withoutKey.get(link) ?? { ...link, publicKey: null };
  withoutKey.set(link, known);
  return known;
}
