/** Configuration files of WireGuard apps, as wg-quick(8) defines them. */
import type { ResultOf } from "@gatehouse/client/calls";

export type Routes = ResultOf<"/tenants/my/devices/{id}/configuration", "get">;

/** All addresses outside the device's own networks. */
const everything = ["0.0.0.0/0", "::/0"];

/** The name that apps give to the tunnel: at most 15 characters. */
export const fileName = "gatehouse.conf";

/**
 * Formats a configuration file. It names no DNS server: an app sends all questions to it, and gateways answer only the
 * names of resources.
 */
export function formatWireGuardFile(routes: Routes, privateKey: string): string {
  const { ipv4, ipv6 } = routes;
  const own = ["[Interface]", `PrivateKey = ${privateKey}`, `Address = ${ipv4}/32, ${ipv6}/128`];
  return `${[own.join("\n"), ...peersOf(routes)].join("\n\n")}\n`;
}

/** Formats the gateways alone, which contain no secret. */
export function formatGateways(routes: Routes): string {
  return peersOf(routes).join("\n\n");
}

/** The private key in a configuration file. */
export function privateKeyIn(file: string): string | undefined {
  return /^[ \t]*PrivateKey[ \t]*=[ \t]*([A-Za-z0-9+/]{43}=)[ \t\r]*$/im.exec(file)?.[1];
}

/** The names that need the agent, because an app cannot resolve them. */
export function unresolvedNames({ gateways }: Routes): readonly string[] {
  return [...new Set(gateways.flatMap(({ names }) => names))].sort();
}

function peersOf({ gateways, internet }: Routes): readonly string[] {
  return gateways.map(({ gateway, publicKey, endpoint, relays, addresses, allowedIps }) => {
    const blocks = [
      ...addresses.map((address) => `${address}/${address.includes(":") ? 128 : 32}`),
      ...allowedIps,
      ...(gateway === internet ? everything : []),
    ];
    const path = endpoint ?? relays[0];
    return [
      "[Peer]",
      `PublicKey = ${publicKey}`,
      `AllowedIPs = ${[...new Set(blocks)].join(", ")}`,
      ...(path === undefined ? [] : [`Endpoint = ${path}`]),
      "PersistentKeepalive = 25",
    ].join("\n");
  });
}
