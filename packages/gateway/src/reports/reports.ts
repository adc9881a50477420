import { availableParallelism, loadavg } from "node:os";
import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { PeerReport } from "@gatehouse/agent-protocol/gateway/frames";

/** @returns share of the processors that had work during the last minute, 0 to 1 */
export function loadOfMachine(): number {
  const [lastMinute = 0] = loadavg();
  return Math.min(1, Math.max(0, lastMinute / availableParallelism()));
}

/** What WireGuard knows of the peers of a configuration. */
export function peerReports(
  { peers }: ConfigurationContent,
  live: ReadonlyMap<string, LivePeer>,
): readonly PeerReport[] {
  return Object.entries(peers).flatMap(([peer, { publicKey }]) => {
    const known = live.get(publicKey);
    if (known === undefined) return [];
    const { lastHandshake, endpoint, receivedBytes, sentBytes } = known;
    const address = endpoint === undefined ? undefined : /^\[?([^\]]+?)\]?:[0-9]+$/.exec(endpoint)?.[1];
    return [
      {
        peer,
        ...(lastHandshake === undefined ? {} : { lastHandshake }),
        ...(address === undefined ? {} : { address }),
        receivedBytes,
        sentBytes,
      },
    ];
  });
}
