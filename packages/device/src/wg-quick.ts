import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { everything } from "./tunnel/wanted-tunnel.ts";

export interface WgQuickOptions {
  /** base64; undefined: it is kept on another machine. */
  readonly privateKey: string | undefined;
  /** When the configuration was as it is here. Milliseconds since 1970. */
  readonly asOf: number;
  /** From then on nobody has vouched for it; undefined: it came from the server just now. */
  readonly expiresAt: number | undefined;
}

/** A file for wg-quick(8), and for the other WireGuard programs that read it. */
export function wgQuickText(
  configuration: DeviceConfiguration,
  { privateKey, asOf, expiresAt }: WgQuickOptions,
): string {
  const { device, ipv4, ipv6, gateways, internet, validUntil } = configuration;
  const ends = [validUntil, expiresAt].filter((moment) => moment !== undefined);
  const until = ends.length === 0 ? undefined : Math.min(...ends);
  const dns = gateways.filter(({ names }) => names.length > 0).flatMap(({ addresses }) => addresses);
  const lines = [
    `# The device ${device}, as of ${timeText(asOf)}.`,
    until === undefined
      ? "# Valid until something changes: no condition of time ends it."
      : `# Valid until ${timeText(until)}.`,
    "# It does not follow changes: when access or gateways change, print it again, or use gatehouse device run.",
    ...(gateways.length === 0
      ? ["# There is no gateway: the device may reach nothing, or nothing that carries it is online."]
      : []),
    "",
    "[Interface]",
    privateKey === undefined
      ? "# PrivateKey = (is on the device itself, in wireguard.key of its state folder)"
      : `PrivateKey = ${privateKey}`,
    `Address = ${ipv4}/32, ${ipv6}/128`,
  ];
  if (dns.length > 0) {
    lines.push(
      "# Every name is asked of the gateways, which refuse those that are none of theirs. Add the addresses that a",
      "# name of theirs has to AllowedIPs: a file cannot follow them.",
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
    const [way = undefined] = [...(endpoint === undefined ? [] : [endpoint]), ...relays];
    if (way !== undefined) lines.push(`Endpoint = ${way}`);
    lines.push("PersistentKeepalive = 25");
  }
  return `${lines.join("\n")}\n`;
}

function timeText(moment: number): string {
  return new Date(moment).toISOString().replace(/\.\d+Z$/, "Z");
}
