/** The desired state of the machine for a configuration. This module has no side effects. */

import { canonicalAddress, type IpBlock, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { nonRoutableBlocks } from "@gatehouse/addresses/special-purpose";
import type { NamedAddresses } from "@gatehouse/agent-core/dns/named-services";
import type { WantedPeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import type { LocalNetwork } from "./local-network.ts";
import { gatewaysAndUnserved, unservedId, unservedKey } from "./unserved-peer.ts";

/** A port of an address that must never be reached through the tunnel. */
export interface BypassRoute {
  readonly address: string;
  readonly protocol: "tcp" | "udp";
  readonly port: number;
}

export interface WantedTunnel {
  /** The addresses of the interface, with prefix lengths. */
  readonly addresses: readonly string[];
  /** Desired peers by public key. */
  readonly peers: ReadonlyMap<string, WantedPeer>;
  /** The blocks that are routed into the tunnel. `0.0.0.0/0` and `::/0` are the default route. */
  readonly routes: readonly string[];
  /** Only those that `routes` would otherwise cover. */
  readonly bypassRoutes: readonly BypassRoute[];
}

export const everything = ["0.0.0.0/0", "::/0"] as const;

/** Whether a block covers all addresses of its family. */
export function isEverything(block: string): boolean {
  return block.endsWith("/0");
}

/** The inputs that the configuration does not contain. */
export interface TunnelInputs {
  /** The resolved addresses of the configuration's names. */
  readonly named: NamedAddresses;
  /** Returns the selected path to a gateway, as address and port; undefined: none is known. */
  readonly pathTo: (gateway: DeviceGateway) => string | undefined;
  /** The addresses of the control plane. */
  readonly controlPlane: readonly BypassRoute[];
  readonly local: LocalNetwork;
}

/** The ports of DNS, and of DNS over TLS and QUIC. */
const dnsPorts = [
  { protocol: "udp", port: 53 },
  { protocol: "tcp", port: 53 },
  { protocol: "udp", port: 853 },
  { protocol: "tcp", port: 853 },
] as const;

export function wantedTunnel(
  configuration: DeviceConfiguration,
  { named, pathTo, controlPlane, local }: TunnelInputs,
): WantedTunnel {
  const { ipv4, ipv6, gateways, internet, unserved } = configuration;
  const namedOf = namedByGateway(configuration, named, local);
  const peers = new Map<string, WantedPeer>();
  const paths: BypassRoute[] = [];
  for (const gateway of gateways) {
    const path = pathTo(gateway);
    const allowedIps = new Set([
      ...gateway.addresses.map(asBlock),
      ...gateway.allowedIps,
      ...(namedOf.get(gateway.gateway) ?? []),
      ...(gateway.gateway === internet ? everything : []),
    ]);
    peers.set(gateway.publicKey, { endpoint: path, allowedIps: [...allowedIps] });
    const bypass = path === undefined ? undefined : bypassRouteOf(path, "udp");
    if (bypass !== undefined) paths.push(bypass);
  }
  const carried = new Set([...peers.values()].flatMap(({ allowedIps }) => allowedIps));
  const closed = [...(unserved?.addresses ?? []), ...(namedOf.get(unservedId) ?? [])].filter(
    (one) => !carried.has(one),
  );
  if (closed.length > 0) peers.set(unservedKey, { endpoint: undefined, allowedIps: closed });
  const routes = [...peers.values()].flatMap(({ allowedIps }) => allowedIps);
  const ofNames = new Set([...namedOf.values()].flat());
  const blocks = parsed(routes);
  const dropped = new Set(closed);
  const isDropped = (address: string) => dropped.size > 0 && dropped.has(longestBlock(address, routes) ?? "");
  // The device may need DNS to find the control plane. Questions for unserved names are answered on the device.
  const resolvers = [...local.resolvers, ...local.routers]
    .filter((address) => ofNames.has(asBlock(address)) || isDropped(address))
    .flatMap((address) => dnsPorts.map((port) => ({ address, ...port })));
  return {
    addresses: [asBlock(ipv4), asBlock(ipv6)],
    peers,
    routes,
    bypassRoutes: unique([
      ...[...paths, ...controlPlane].filter(({ address }) => isWithin(address, blocks)),
      ...resolvers,
    ]),
  };
}

/**
 * Returns the gateway that resolves each name of a configuration: the first one that lists it. The id of unserved names
 * is `unservedId`.
 */
export function gatewaysOfNames(configuration: DeviceConfiguration): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { gateway, names } of gatewaysAndUnserved(configuration)) {
    for (const name of names) if (!Object.hasOwn(found, name)) found[name] = gateway;
  }
  return found;
}

/** @returns undefined if the path is not an address with a port */
export function bypassRouteOf(path: string, protocol: BypassRoute["protocol"]): BypassRoute | undefined {
  const [, host = "", port] = /^\[?([0-9a-f.:]+?)\]?:([0-9]+)$/.exec(path) ?? [];
  const address = canonicalAddress(host);
  return address === undefined ? undefined : { address, protocol, port: Number(port) };
}

/** Whether a name must not have an address: that of a router of the machine, outside the configuration's blocks. */
export function isClosedToNames(configuration: DeviceConfiguration, local: LocalNetwork, text: string): boolean {
  return carrierOf(configuration, local, canonicalAddress(text) ?? text) === "none";
}

/**
 * Returns whose gateway carries an address of a name: the name's, or that of the block that contains the address. A
 * name must not move a resolver or a router away from the block that an administrator put it into.
 */
function carrierOf(
  configuration: DeviceConfiguration,
  { resolvers, routers }: LocalNetwork,
  address: string,
): "name" | "block" | "none" {
  if (!resolvers.has(address) && !routers.has(address)) return "name";
  if (isInBlock(configuration, address)) return "block";
  return routers.has(address) ? "none" : "name";
}

function isInBlock(configuration: DeviceConfiguration, address: string): boolean {
  return isWithin(address, parsed(gatewaysAndUnserved(configuration).flatMap(({ allowedIps }) => allowedIps)));
}

/** Returns the longest of these blocks that contains an address. The kernel and WireGuard select it. */
function longestBlock(address: string, texts: readonly string[]): string | undefined {
  let longest: { readonly text: string; readonly prefixLength: number } | undefined;
  for (const text of texts) {
    const block = parseIpBlock(text);
    if (block === undefined || block.prefixLength <= (longest?.prefixLength ?? -1)) continue;
    if (isWithin(address, [block])) longest = { text, prefixLength: block.prefixLength };
  }
  return longest?.text;
}

function parsed(blocks: readonly string[]): readonly IpBlock[] {
  return blocks.map(parseIpBlock).filter((block) => block !== undefined);
}

/**
 * Returns the addresses of names, as blocks, by the gateway that carries them. As in gateways, an exact name takes
 * precedence over the longest wildcard. Names of gateways take precedence over unserved names. Addresses that the
 * configuration assigns explicitly are not included.
 *
 * An address that a router of the machine also has, since the machine moved to another network, is blocked. Packets for
 * the address may be for either machine.
 */
function namedByGateway(
  configuration: DeviceConfiguration,
  named: NamedAddresses,
  local: LocalNetwork,
): ReadonlyMap<string, readonly string[]> {
  const gatewayOf = gatewaysOfNames(configuration);
  const { ipv4, ipv6 } = configuration;
  const gateways = gatewaysAndUnserved(configuration);
  const taken = new Set([ipv4, ipv6, ...gateways.flatMap(({ addresses }) => addresses)].map(asBlock));
  for (const { allowedIps } of gateways) for (const block of allowedIps) taken.add(block);
  const found = new Map<string, string[]>();
  const precedence = (key: string) => (gatewayOf[key] === unservedId ? 0 : weight(key));
  for (const [text, keys] of named) {
    const address = canonicalAddress(text) ?? text;
    const block = asBlock(address);
    const [key] = [...keys].sort((left, right) => precedence(right) - precedence(left));
    const gateway = key === undefined ? undefined : gatewayOf[key];
    if (gateway === undefined || taken.has(block) || isWithin(address, nonRoutableBlocks)) continue;
    const carrier = carrierOf(configuration, local, address);
    if (carrier === "block") continue;
    const id = carrier === "none" ? unservedId : gateway;
    const known = found.get(id) ?? [];
    known.push(block);
    found.set(id, known);
  }
  return found;
}

function weight(name: string): number {
  return name.startsWith("*") ? name.length : Number.POSITIVE_INFINITY;
}

function asBlock(address: string): string {
  return `${address}/${address.includes(":") ? 128 : 32}`;
}

function unique(routes: readonly BypassRoute[]): readonly BypassRoute[] {
  const seen = new Map(routes.map((route) => [`${route.address} ${route.protocol} ${route.port}`, route]));
  return [...seen.values()];
}
