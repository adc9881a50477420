import type { ConfigurationContent, Peer } from "@gatehouse/agent-protocol/gateway/configuration";
import { contentAt } from "./time-windows.ts";

/**
 * Returns the part of a configuration that can be enforced on the previous tunnel: its rules, for the peers that have
 * the same key and addresses in both. Rules match addresses. After a refused change, any other address may belong to
 * the key of either configuration, so its device is treated as one whose session has ended.
 *
 * @param refused the content of a configuration whose tunnel the machine refused
 * @param previous the content that was enforced before
 * @param now milliseconds since 1970
 */
export function limitedContent(
  refused: ConfigurationContent,
  previous: ConfigurationContent,
  now: number,
): ConfigurationContent {
  const peers: Record<string, Peer> = {};
  for (const [ipv4, peer] of [...Object.entries(previous.peers), ...Object.entries(refused.peers)]) {
    if (peer.kind === "device") peers[ipv4] = { ...peer, until: 0 };
  }
  const currentPeers = contentAt(previous, now).peers;
  for (const [ipv4, peer] of Object.entries(refused.peers)) {
    const known = currentPeers[ipv4];
    if (known?.kind !== peer.kind || known.publicKey !== peer.publicKey || known.ipv6 !== peer.ipv6) continue;
    peers[ipv4] = peer.kind === "site" ? { ...peer, networks: commonNetworks(peer, known) } : peer;
  }
  return { ...refused, settings: { ...refused.settings, interface: previous.settings.interface }, peers };
}

function commonNetworks(peer: Peer, known: Peer): string[] {
  if (peer.kind !== "site" || known.kind !== "site") return [];
  const networks = new Set(known.networks);
  return peer.networks.filter((network) => networks.has(network));
}
