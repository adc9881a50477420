import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { everything } from "./tunnel/wanted-tunnel.ts";

export interface WgQuickOptions {
  /** base64; undefined: the key is on another machine. */
  readonly privateKey: string | undefined;
  /** The time of the configuration, milliseconds since 1970. */
  readonly asOf: number;
  /** When the configuration expires; undefined: the server has just sent it. */
  readonly expiresAt: number | undefined;
}

/** Formats a configuration as a file for wg-quick(8) and WireGuard apps. */
export function wgQuickText(
  configuration: DeviceConfiguration,
  { privateKey, asOf, expiresAt }: WgQuickOptions,
): string {
  const { device, ipv4, ipv6, gateways, internet, validUntil } = configuration;
  const ends = [validUntil, expiresAt].filter((moment) => moment !== undefined);
  const until = ends.length === 0 ? undefined : Math.min(...ends);
  const dns = gateways.filter(({ names }) => names.length > 0).flatMap(({ addresses }) => addresses);
  const lines = [
    `# The device ${device}, as of ${formatTime(asOf)}.`,
    until === undefined
      ? "# Valid until access or gateways change. No time condition ends it."
      : `# Valid until ${formatTime(until)}.`,
    "# This file does not follow changes. Print it again after a change, or use gatehouse device run.",
    ...(gateways.length === 0 ? ["# No gateways: the device has no access, or no gateway for it is online."] : []),
    "",
    "[Interface]",
    privateKey === undefined
      ? "# PrivateKey = (on the device, in the file wireguard.key of its state folder)"
      : `PrivateKey = ${privateKey}`,
    `Address = ${ipv4}/32, ${ipv6}/128`,
  ];
  if (dns.length > 0) {
    lines.push(
      "# All DNS questions go to the gateways, which refuse names that they do not serve. Add the addresses of their",
      "# names to AllowedIPs: a file cannot follow them.",
      `DNS = ${dns.join(", ")}`,
    );
  }
  for (const { gateway, publicKey, endpoint, relays, addresses, allowedIps, names } of gateways) {
    const blocks = [
      ...addresses.map((address) => `${address}/${address.includes(":") ? 128 : 32}`),
      ...allowedIps,
      ...(gateway === internet ? everything : []),
    ];
    lines.push("", "[Peer]", `# The gateway ${gateway}`);
    if (names.length > 0) lines.push(`# Names: ${names.join(", ")}`);
    lines.push(`PublicKey = ${publicKey}`, `AllowedIPs = ${[...new Set(blocks)].join(", ")}`);
    const [path = undefined] = [...(endpoint === undefined ? [] : [endpoint]), ...relays];
    if (path !== undefined) lines.push(`Endpoint = ${path}`);
    lines.push("PersistentKeepalive = 25");
  }
  return `${lines.join("\n")}\n`;
}

function formatTime(moment: number): string {
  return new Date(moment).toISOString().replace(/\.\d+Z$/, "Z");
}
