/** What the machine should be like while a configuration is used. Pure. */

import { formatAddress, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { senselessBlocks } from "@gatehouse/agent-core/dns/dns-reply";
import type { NamedAddresses } from "@gatehouse/agent-core/dns/named-services";
import type { WantedPeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";

/** Something outside the tunnel that must never be reached through it. */
export interface Outside {
  readonly address: string;
  readonly protocol: "tcp" | "udp";
  readonly port: number;
}

export interface WantedTunnel {
  /** The interface's own, with prefix lengths. */
  readonly addresses: readonly string[];
  /** By public key. */
  readonly peers: ReadonlyMap<string, WantedPeer>;
  /** What is sent into the tunnel; `0.0.0.0/0` and `::/0` for all that has no closer way. */
  readonly routes: readonly string[];
  /** As far as routes lead there. */
  readonly outside: readonly Outside[];
}

export const everything = ["0.0.0.0/0", "::/0"] as const;

/** Whether a block is all of its family's addresses. */
export function isEverything(block: string): boolean {
  return block.endsWith("/0");
}

export interface Surroundings {
  /** Which addresses names have, by the configuration's names. */
  readonly named: NamedAddresses;
  /** The address with port at which a gateway is reached; undefined: none is known. */
  readonly wayTo: (gateway: DeviceGateway) => string | undefined;
  /** Where the control plane is. */
  readonly controlPlane: readonly Outside[];
}

export function wantedTunnel(
  configuration: DeviceConfiguration,
  { named, wayTo, controlPlane }: Surroundings,
): WantedTunnel {
  const { ipv4, ipv6, gateways, internet } = configuration;
  const namedOf = namedByGateway(configuration, named);
  const peers = new Map<string, WantedPeer>();
  const ways: Outside[] = [];
  for (const gateway of gateways) {
    const way = wayTo(gateway);
    const allowedIps = new Set([
      ...gateway.addresses.map(asBlock),
      ...gateway.allowedIps,
      ...(namedOf.get(gateway.gateway) ?? []),
      ...(gateway.gateway === internet ? everything : []),
    ]);
    peers.set(gateway.publicKey, { endpoint: way, allowedIps: [...allowedIps] });
    const outside = way === undefined ? undefined : outsideOf(way, "udp");
    if (outside !== undefined) ways.push(outside);
  }
  const routes = [...peers.values()].flatMap(({ allowedIps }) => allowedIps);
  const blocks = routes.map(parseIpBlock).filter((block) => block !== undefined);
  return {
    addresses: [asBlock(ipv4), asBlock(ipv6)],
    peers,
    routes,
    outside: unique([...ways, ...controlPlane].filter(({ address }) => isWithin(address, blocks))),
  };
}

/** Which gateway each name of a configuration is asked of; the first that lists it. */
export function gatewaysOfNames({ gateways }: DeviceConfiguration): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { gateway, names } of gateways) {
    for (const name of names) if (!Object.hasOwn(found, name)) found[name] = gateway;
  }
  return found;
}

/** @returns undefined where it is no address with a port */
export function outsideOf(way: string, protocol: Outside["protocol"]): Outside | undefined {
  const [, host = "", port] = /^\[?([0-9a-f.:]+?)\]?:([0-9]+)$/.exec(way) ?? [];
  const address = plainAddress(host);
  return address === undefined ? undefined : { address, protocol, port: Number(port) };
}

/** One text for each address, however it was written. @returns undefined where it is none */
export function plainAddress(text: string): string | undefined {
  const block = parseIpBlock(text);
  return block === undefined || text.includes("/") ? undefined : formatAddress(block.family, block.first);
}

/**
 * The addresses of names, as blocks, by the gateway that they go through. As at gateways: an exact name counts before the longest wildcard;
 * and an address that the configuration gives to somebody by itself stays theirs.
 */
function namedByGateway(
  configuration: DeviceConfiguration,
  named: NamedAddresses,
): ReadonlyMap<string, readonly string[]> {
  const gatewayOf = gatewaysOfNames(configuration);
  const { ipv4, ipv6, gateways } = configuration;
  const taken = new Set([ipv4, ipv6, ...gateways.flatMap(({ addresses }) => addresses)].map(asBlock));
  for (const { allowedIps } of gateways) for (const block of allowedIps) taken.add(block);
  const found = new Map<string, string[]>();
  for (const [address, keys] of named) {
    const block = asBlock(address);
    const [key] = [...keys].sort((left, right) => weight(right) - weight(left));
    const gateway = key === undefined ? undefined : gatewayOf[key];
    if (gateway === undefined || taken.has(block) || isWithin(address, senselessBlocks)) continue;
    found.set(gateway, [...(found.get(gateway) ?? []), block]);
  }
  return found;
}

function weight(name: string): number {
  return name.startsWith("*") ? name.length : Number.POSITIVE_INFINITY;
}

function asBlock(address: string): string {
  return `${address}/${address.includes(":") ? 128 : 32}`;
}

function unique(places: readonly Outside[]): readonly Outside[] {
  const seen = new Map(places.map((place) => [`${place.address} ${place.protocol} ${place.port}`, place]));
  return [...seen.values()];
}
