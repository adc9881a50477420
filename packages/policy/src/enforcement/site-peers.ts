import { parseAddressText } from "@gatehouse/addresses/address-text";
import { formatIpRange, type IpRange, parseIpRange, rangesOverlap } from "@gatehouse/addresses/ip-ranges";
import type { Peer, SiteRule } from "@gatehouse/agent-protocol/gateway/configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { entryCost, forEach, type Work } from "../work.ts";
import type { GatewayLink } from "./links.ts";

/** The blocks and the rules of gateways that exchange traffic between sites. */
export interface Sites {
  /** The gateways, in the order of their ids. */
  readonly links: readonly GatewayLink[];
  /** The configured networks, or the addresses of the private resources whose first gateway it is. By gateway. */
  readonly networks: ReadonlyMap<string, readonly IpRange[]>;
  readonly rulesAt: (gatewayId: string) => readonly SiteRule[];
}

/** Two blocks that are compared. */
const comparisonCost = 5;
/** A block that is parsed. */
const parsedCost = 100;

/** Finds the blocks behind each gateway. */
export function* findingNetworks(
  model: Model,
  links: ReadonlyMap<string, GatewayLink>,
): Work<ReadonlyMap<string, readonly IpRange[]>> {
  const networks = new Map<string, IpRange[]>();
  yield* forEach(links.values(), parsedCost, (link) => {
    networks.set(link.gatewayId, (link.networks ?? []).flatMap(rangeOf));
  });
  const costOf = ({ decodingCost, facts }: CompiledResource) =>
    entryCost + decodingCost + parsedCost * facts.addresses.length;
  yield* forEach(model.resources.values(), costOf, ({ type, facts }) => {
    const [first = ""] = facts.gateways;
    if (type !== "PRIVATE" || links.get(first)?.networks !== null) return;
    for (const { address } of facts.addresses) {
      const reading = parseAddressText(address);
      if (reading.ok && reading.value.isIp) networks.get(first)?.push(reading.value.range);
    }
  });
  return networks;
}

/**
 * Finds the gateways with which a gateway exchanges traffic between sites. Some rule of one gateway allows traffic from
 * the networks of the other.
 */
export function* findingSitePeers(
  { links, networks: allNetworks, rulesAt }: Sites,
  gatewayId: string,
): Work<readonly (readonly [key: string, peer: Peer])[]> {
  const networksOf = ({ gatewayId: id }: GatewayLink) => allNetworks.get(id) ?? [];
  const ownNetworks = allNetworks.get(gatewayId) ?? [];
  const ownRules = rulesAt(gatewayId);
  const taken: IpRange[] = [];
  const peers: (readonly [string, Peer])[] = [];
  const costOfRules = (rules: readonly SiteRule[], networks: readonly IpRange[]) =>
    rules.reduce((sum, { sources }) => sum + sources.length * (parsedCost + networks.length * comparisonCost), 0);
  const costOf = (other: GatewayLink) => {
    const networks = networksOf(other);
    const compared = networks.length * (ownNetworks.length + taken.length) * comparisonCost;
    return entryCost + compared + costOfRules(ownRules, networks) + costOfRules(rulesAt(other.gatewayId), ownNetworks);
  };
  yield* forEach(links, costOf, (other) => {
    if (other.gatewayId === gatewayId || other.publicKey === null) return;
    const networks = networksOf(other);
    if (!areLinked(ownRules, networks) && !areLinked(rulesAt(other.gatewayId), ownNetworks)) return;
    // An address belongs to one peer. Local networks belong to no peer.
    const free = networks.filter((range) => ![...ownNetworks, ...taken].some((held) => rangesOverlap(held, range)));
    taken.push(...free);
    const endpoint = other.endpoint === null ? {} : { endpoint: other.endpoint };
    const blocks = [...new Set(free.map(formatIpRange))].sort();
    peers.push([
      other.ipv4,
      { kind: "site", publicKey: other.publicKey, ipv6: other.ipv6, ...endpoint, networks: blocks },
    ]);
  });
  return peers;
}

function areLinked(rules: readonly SiteRule[], networks: readonly IpRange[]): boolean {
  if (networks.length === 0) return false;
  return rules.some(({ action, sources }) => {
    if (action === "deny") return false;
    if (sources.length === 0) return true;
    return sources.flatMap(rangeOf).some((source) => networks.some((network) => rangesOverlap(source, network)));
  });
}

function rangeOf(text: string): readonly IpRange[] {
  const reading = parseIpRange(text);
  return reading.ok ? [reading.value] : [];
}
