/** What enforcement needs of a tenant's devices and gateways, made of what the database holds. */
import { isIP } from "node:net";
import { PublicKey } from "@gatehouse/contract/network-values";
import type { RoutedDevice, RouteInputs } from "@gatehouse/policy/enforcement/device-routes";
import type { DeviceLink, GatewayLink, LinkFacts } from "@gatehouse/policy/enforcement/links";
import type { DeviceLinkRow, GatewayLinkRow, LinkRows } from "./link-facts.queries.ts";
import { tunnelAddresses, tunnelPools } from "./tunnel-addresses.ts";

/** How long connections that run may finish once their gateway is in maintenance, in milliseconds. */
export const usualDrainMs = 5 * 60_000;

const wireGuardKey = new RegExp((PublicKey as unknown as { readonly pattern: string }).pattern); // a schema of strings with a pattern

/** @param drainMs how long connections that run may finish once their gateway is in maintenance, in milliseconds */
export function linkFactsOf({ prefix, devices, gateways }: LinkRows, drainMs: number): LinkFacts {
  // Without a prefix nobody has an address yet.
  if (prefix === undefined) return { pools: tunnelPools("0"), devices: [], gateways: [] };
  return {
    pools: tunnelPools(prefix),
    devices: devices.flatMap((row) => deviceLinkOf(row, prefix) ?? []),
    gateways: gateways.map((row) => gatewayLinkOf(row, prefix, drainMs)),
  };
}

/** What tells the ways of some devices. */
export function deviceWaysOf({ prefix, devices, gateways }: LinkRows): RouteInputs {
  if (prefix === undefined) return { devices: new Map(), gateways: new Map() };
  return {
    devices: new Map(devices.map((row) => [row.id, deviceWayOf(row, prefix)])),
    gateways: new Map(gateways.map((row) => [row.id, gatewayLinkOf(row, prefix)])),
  };
}

export function deviceWayOf(row: DeviceLinkRow, prefix: string): RoutedDevice {
  const isPeer = deviceLinkOf(row, prefix) !== undefined;
  const { source_address: source } = row;
  return { ...tunnelAddresses(prefix, row.number), isPeer, sourceIp: source === "" ? null : source, country: null };
}

/** Undefined for a device whose key is none of WireGuard's: no gateway could take it for a peer. */
export function deviceLinkOf(row: DeviceLinkRow, prefix: string): DeviceLink | undefined {
  const { id, number, public_key: publicKey, source_address: source } = row;
  if (!wireGuardKey.test(publicKey)) return undefined;
  const sourceIp = source === "" ? null : source;
  return { deviceId: id, ...tunnelAddresses(prefix, number), publicKey, sourceIp, country: null };
}

export function gatewayLinkOf(row: GatewayLinkRow, prefix: string, drainMs = usualDrainMs): GatewayLink {
  const { maintenance_since: since } = row;
  return {
    gatewayId: row.id,
    ...tunnelAddresses(prefix, row.number),
    publicKey: row.public_key === "" ? null : row.public_key,
    listenPort: row.wireguard_port,
    endpoint: endpointOf(row),
    relayEnabled: row.relay_enabled,
    // Only to where an administrator says: where an agent says it is found could be a machine beside the relay that nobody should reach.
    relayPort: row.endpoint === "" ? null : row.relay_port,
    drain: since === null ? null : { since: Date.parse(since), until: Date.parse(since) + drainMs },
    dns: { resolvers: row.resolvers, domains: row.resolver_domains },
    networks: row.networks,
  };
}

/** What the administrator set counts before what the agent was told, or where its link came from. */
function endpointOf({ endpoint, wireguard_port: port, reported_endpoint: reported }: GatewayLinkRow): string | null {
  const isAddress = isIP(reported) !== 0;
  const host = endpoint === "" && isAddress ? reported : endpoint;
  if (host !== "") return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return reported === "" ? null : reported;
}
