/** The link facts of the policy engine (tunnel addresses, keys, endpoints), from database rows. */
import { isIP } from "node:net";
import { PublicKey } from "@gatehouse/contract/network-values";
import { keyWeakness } from "@gatehouse/contract/wireguard-keys";
import type { RoutedDevice, RouteInputs } from "@gatehouse/policy/enforcement/device-routes";
import { allComparable, type DeviceSources, noSources } from "@gatehouse/policy/enforcement/device-sources";
import type { DeviceLink, GatewayLink, LinkFacts } from "@gatehouse/policy/enforcement/links";
import { forEach, recordCost, type Work } from "@gatehouse/policy/work";
import type { DeviceLinkRow, GatewayLinkRow, LinkRows } from "./link-facts.queries.ts";
import { tunnelAddresses, tunnelPools } from "./tunnel-addresses.ts";

/** How long open connections may last once their gateway is in maintenance, in milliseconds. */
export const defaultDrainMs = 5 * 60_000;

const wireGuardKey = new RegExp((PublicKey as unknown as { readonly pattern: string }).pattern); // a schema of strings with a pattern

/**
 * Converts all rows of a tenant, as work that can be suspended.
 *
 * @param latest the latest valid time of an observation, in milliseconds since 1970
 * @param drainMs how long open connections may last once their gateway is in maintenance, in milliseconds
 */
export function* convertingLinks(
  { prefix, devices, gateways }: LinkRows,
  latest: number,
  drainMs: number,
): Work<LinkFacts> {
  // Without a prefix, no address has been assigned.
  if (prefix === undefined) return { pools: tunnelPools("0"), devices: [], gateways: [] };
  const links = { pools: tunnelPools(prefix), devices: [] as DeviceLink[], gateways: [] as GatewayLink[] };
  yield* forEach(devices, recordCost, (row) => {
    const link = deviceLinkOf(row, prefix, latest);
    if (link !== undefined) links.devices.push(link);
  });
  yield* forEach(gateways, recordCost, (row) => links.gateways.push(gatewayLinkOf(row, prefix, drainMs)));
  return links;
}

/**
 * The facts that routes of devices are computed from.
 *
 * @param latest the latest valid time of an observation, in milliseconds since 1970
 */
export function routeInputsOf({ prefix, devices, gateways }: LinkRows, latest: number): RouteInputs {
  if (prefix === undefined) return { devices: new Map(), gateways: new Map() };
  return {
    devices: new Map(devices.map((row) => [row.id, routedDeviceOf(row, prefix, latest)])),
    gateways: new Map(gateways.map((row) => [row.id, gatewayLinkOf(row, prefix)])),
  };
}

/** @param latest the latest valid time of an observation, in milliseconds since 1970 */
export function routedDeviceOf(row: DeviceLinkRow, prefix: string, latest: number): RoutedDevice {
  const isPeer = wireGuardKey.test(row.public_key) && keyWeakness(row.public_key) === undefined;
  return { ...tunnelAddresses(prefix, row.number), isPeer, sources: sourcesOf(row, latest), country: null };
}

function sourcesOf(
  { source_address: address, source_seen_at: at, gateway_sources: own }: DeviceLinkRow,
  latest: number,
): DeviceSources {
  if (own.length === 0 && address === "") return noSources;
  const controlPlane = address === "" || at === null ? null : { address, at: Date.parse(at) };
  const gateways = new Map(own.map((seen) => [seen.gateway, { address: seen.address, at: Date.parse(seen.at) }]));
  return allComparable({ controlPlane, gateways }, latest);
}

/**
 * @param latest the latest valid time of an observation, in milliseconds since 1970
 * @returns undefined if the device has no WireGuard key: no gateway could have it as a peer
 */
export function deviceLinkOf(row: DeviceLinkRow, prefix: string, latest: number): DeviceLink | undefined {
  const { id, number, public_key: publicKey } = row;
  if (!wireGuardKey.test(publicKey)) return undefined;
  return {
    deviceId: id,
    ...tunnelAddresses(prefix, number),
    publicKey,
    sources: sourcesOf(row, latest),
    country: null,
  };
}

export function gatewayLinkOf(row: GatewayLinkRow, prefix: string, drainMs = defaultDrainMs): GatewayLink {
  const { maintenance_since: since } = row;
  return {
    gatewayId: row.id,
    ...tunnelAddresses(prefix, row.number),
    publicKey: row.public_key === "" ? null : row.public_key,
    listenPort: row.wireguard_port,
    endpoint: endpointOf(row),
    relayEnabled: row.relay_enabled,
    // Only with an endpoint that an administrator configured: an agent could report any host in the network of the
    // relay.
    relayPort: row.endpoint === "" ? null : row.relay_port,
    drain: since === null ? null : { since: Date.parse(since), until: Date.parse(since) + drainMs },
    dns: { resolvers: row.resolvers, domains: row.resolver_domains },
    networks: row.networks,
  };
}

/** A configured endpoint comes first, then the one that the agent reported or connected from. */
function endpointOf({ endpoint, wireguard_port: port, reported_endpoint: reported }: GatewayLinkRow): string | null {
  const isAddress = isIP(reported) !== 0;
  const host = endpoint === "" && isAddress ? reported : endpoint;
  if (host !== "") return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return reported === "" ? null : reported;
}
