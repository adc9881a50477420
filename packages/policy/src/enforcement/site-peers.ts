import { parseAddressText } from "@gatehouse/addresses/address-text";
import { formatIpRange, type IpRange, parseIpRange, rangesOverlap } from "@gatehouse/addresses/ip-ranges";
import type { Peer, SiteRule } from "@gatehouse/agent-protocol/gateway/configuration";
import type { Model } from "../model/model.ts";
import type { GatewayLink } from "./links.ts";

/** The blocks behind a gateway: as its administrator says, or else those of the private resources of which it is the first gateway. */
export function networksBehind(model: Model, { gatewayId, networks }: GatewayLink): readonly IpRange[] {
  if (networks !== null) return networks.flatMap(rangeOf);
  const found: IpRange[] = [];
  for (const { facts } of model.resources.values()) {
    if (facts.type !== "PRIVATE" || facts.gateways[0] !== gatewayId) continue;
    for (const { address } of facts.addresses) {
      const reading = parseAddressText(address);
      if (reading.ok && reading.value.isIp) found.push(reading.value.range);
    }
  }
  return found;
}

/** The other gateways that a gateway has links with: traffic from the one's networks is allowed to something of the other. */
export function sitePeersOf(
  model: Model,
  links: ReadonlyMap<string, GatewayLink>,
  gatewayId: string,
  rulesAt: (gatewayId: string) => readonly SiteRule[],
): readonly (readonly [key: string, peer: Peer])[] {
  const own = links.get(gatewayId);
  if (own === undefined || model.policies.SITETOSITE.policies.length === 0) return [];
  const ownNetworks = networksBehind(model, own);
  const ownRules = rulesAt(gatewayId);
  const taken: IpRange[] = [];
  const peers: (readonly [string, Peer])[] = [];
  for (const other of [...links.values()].sort((a, b) => (a.gatewayId < b.gatewayId ? -1 : 1))) {
    if (other.gatewayId === gatewayId || other.publicKey === null) continue;
    const networks = networksBehind(model, other);
    if (!areLinked(ownRules, networks) && !areLinked(rulesAt(other.gatewayId), ownNetworks)) continue;
    // An address belongs to one peer, and what is here is not elsewhere.
    const free = networks.filter((range) => ![...ownNetworks, ...taken].some((held) => rangesOverlap(held, range)));
    taken.push(...free);
    const endpoint = other.endpoint === null ? {} : { endpoint: other.endpoint };
    const blocks = [...new Set(free.map(formatIpRange))].sort();
    peers.push([
      other.ipv4,
      { kind: "site", publicKey: other.publicKey, ipv6: other.ipv6, ...endpoint, networks: blocks },
    ]);
  }
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
