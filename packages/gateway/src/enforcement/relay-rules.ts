/**
 * Relaying in the kernel: what arrives on a relay port is sent on to another gateway, and the answers back. Rules of the same table, so
 * that relaying begins and ends with the transaction that says so.
 *
 * What is relayed is known by a mark of its connection. Each of its packets is held against the present relays, so that those of before
 * are cut like any other traffic.
 */
import { createHash } from "node:crypto";
import { type Family, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { type HostAddresses, parseEndpoint } from "../names/endpoint-hosts.ts";
import type { NftSet } from "./nft-state.ts";

/** Where a gateway never is: this machine, its links, groups of machines. */
const senselessBlocks = [
  "0.0.0.0/8",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/3",
  "::/127",
  "::ffff:0:0/96",
  "fe80::/10",
  "ff00::/8",
]
  .map(parseIpBlock)
  .filter((block) => block !== undefined);

const families = [4, 6] as const;
const word = { 4: "ip", 6: "ip6" } as const;
const addressType = { 4: "ipv4_addr", 6: "ipv6_addr" } as const;

/** The map of relay ports to where they lead. */
export const relayMap = { 4: "relays4", 6: "relays6" } as const;

/** The mark of connections that the agent of this interface relays; another agent on the machine has another one. */
function markOf(interfaceName: string): string {
  const number = createHash("sha256").update(`gatehouse relay ${interfaceName}`).digest().readUInt32BE(0);
  return `0x${((number | 1) >>> 0).toString(16)}`;
}

/** For the chain of forwarded packets, behind the tunnel's own rules. Also where nothing is relayed: it cuts what was before. */
export function relayedPackets(interfaceName: string, verdict: string): string {
  return `ct mark ${markOf(interfaceName)} ${verdict}`;
}

/** @param dropRules of all that is carried: the end of the configuration, maintenance */
export function relayChains(
  interfaceName: string,
  dropRules: readonly string[],
): readonly [string, readonly string[]][] {
  const mark = markOf(interfaceName);
  return [
    [
      "relaying",
      [
        ...dropRules,
        "ct state related counter name relayed accept",
        ...families.flatMap((family) => [
          `ct direction original ${word[family]} daddr . udp dport @relayed${family} counter name relayed accept`,
          `ct direction reply ${word[family]} saddr . udp sport @relayed${family} counter name relayed accept`,
        ]),
        "goto refused",
      ],
    ],
    [
      "inbound",
      [
        "type nat hook prerouting priority dstnat ; policy accept ;",
        ...families.map(
          (family) =>
            `iifname != "${interfaceName}" fib daddr type local meta nfproto ipv${family} udp dport @relayports${family} ` +
            `ct mark set ${mark} dnat ${word[family]} to udp dport map @${relayMap[family]}`,
        ),
      ],
    ],
  ];
}

/** So that answers come back through this machine. */
export function relayedSource(interfaceName: string): string {
  return `oifname != "${interfaceName}" ct mark ${markOf(interfaceName)} masquerade`;
}

/**
 * Where packets on relay ports go, by what is known of the endpoints. A relay carries between addresses of one family.
 *
 * @param addressesOf where a host is
 */
export function relaySets(
  { settings }: ConfigurationContent,
  addressesOf: (host: string) => HostAddresses,
): ReadonlyMap<string, NftSet> {
  const { relay = [], interface: own } = settings;
  const pools = own.pools.map(parseIpBlock).filter((pool) => pool !== undefined);
  const sets = new Map<string, NftSet>();
  for (const family of families) {
    const ports = new Map<string, string>();
    const targets = new Map<string, string>();
    const relayed = new Map<string, string>();
    for (const { listenPort, endpoint } of relay) {
      const { host, port } = parseEndpoint(endpoint);
      const address = addressesOf(host)[family];
      // The tunnel's own port is for its own packets.
      if (address === undefined || listenPort === own.listenPort || isWithin(address, [...senselessBlocks, ...pools]))
        continue;
      ports.set(String(listenPort), "");
      targets.set(String(listenPort), `${address} . ${port}`);
      relayed.set(`${address} . ${port}`, "");
    }
    const type = `${addressType[family]} . inet_service`;
    const { kind, isInterval } = { kind: "set", isInterval: false } as const;
    sets.set(`relayports${family}`, { kind, isInterval, type: "inet_service", elements: ports });
    sets.set(`relayed${family}`, { kind, isInterval, type, elements: relayed });
    sets.set(relayMap[family], { kind: "map", isInterval, type: `inet_service : ${type}`, elements: targets });
  }
  return sets;
}

/** The ports whose connections of before lead elsewhere than new ones. */
export function movedRelayPorts(
  before: ReadonlyMap<string, NftSet> | undefined,
  after: ReadonlyMap<string, NftSet>,
): readonly { readonly family: Family; readonly port: string }[] {
  return families.flatMap((family) => {
    const old = before?.get(relayMap[family])?.elements;
    return [...(after.get(relayMap[family])?.elements ?? [])].flatMap(([port, target]) =>
      old?.get(port) === target ? [] : [{ family, port }],
    );
  });
}
