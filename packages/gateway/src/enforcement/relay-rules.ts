/**
 * Relaying in the kernel: packets to a relay port are forwarded to another gateway, and answers back. The rules are in
 * the same table, so that relaying starts and stops in the transaction of the configuration.
 *
 * A connection mark identifies relayed packets. Every packet is checked against the current relays, so that connections
 * of removed relays are dropped like any other traffic.
 */
import { createHash } from "node:crypto";
import { type Family, isWithin, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { nonRoutableBlocks } from "@gatehouse/addresses/special-purpose";
import { hostAndPort } from "@gatehouse/agent-core/dns/host-resolver";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { HostAddresses } from "../names/endpoint-hosts.ts";
import { addressType, families, word } from "./nft-elements.ts";
import type { NftSet } from "./nft-state.ts";

/** The maps from relay ports to their targets. */
export const relayMap = { 4: "relays4", 6: "relays6" } as const;

/** The sources of new connections. A source of IPv6 is a network, because one machine has all its addresses. */
const relaySources = { 4: "relaysources4", 6: "relaysources6" } as const;
const sourceOf = { 4: "ip saddr", 6: "ip6 saddr and ffff:ffff:ffff:ffff::" } as const;
/**
 * The first bytes of WireGuard's handshake initiations and of its data, with the lengths of their UDP packets. A device
 * that returns to a relay with a live session sends data first, and its next handshake only after 15 seconds.
 */
const initiation = "udp length 156 @th,64,32 0x01000000";
const data = "udp length >= 40 @th,64,32 0x04000000";
/**
 * The limit of packets of one source in connections without an answer. A relay has one connection for each of its own
 * 65,535 ports, and keeps those without an answer for 30 seconds.
 */
const newPackets = "20/second burst 200 packets";
/** More sources are not limited. They could hold all connections also within the limit. */
const mostSources = 4_096;
const noElements: ReadonlyMap<string, string> = new Map();

/** Returns the mark of connections that this agent relays. It differs for each interface name. */
function markOf(interfaceName: string): string {
  const number = createHash("sha256").update(`gatehouse relay ${interfaceName}`).digest().readUInt32BE(0);
  return `0x${((number | 1) >>> 0).toString(16)}`;
}

/**
 * Returns the rule for relayed packets, after the tunnel's rules. Without relays, it drops packets of removed relays.
 */
export function relayedPackets(interfaceName: string, verdict: string): string {
  return `ct mark ${markOf(interfaceName)} ${verdict}`;
}

/** @param dropRules the rules that apply to all forwarded traffic: expiry and maintenance */
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
        "ct state new jump arriving",
        ...families.flatMap((family) => [
          `ct direction original ${word[family]} daddr . udp dport @relayed${family} counter name relayed accept`,
          `ct direction reply ${word[family]} saddr . udp sport @relayed${family} counter name relayed accept`,
        ]),
        "goto refused",
      ],
    ],
    [
      "arriving",
      // A rule does not match a packet that ends before the bytes that the rule reads. So everything else is refused.
      [`${initiation} goto limiting`, `${data} goto limiting`, "goto refused"],
    ],
    [
      "limiting",
      families.map(
        (family) =>
          `update @${relaySources[family]} { ${sourceOf[family]} limit rate over ${newPackets} } goto refused`,
      ),
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

/** Returns the rule that makes answers return through this machine. */
export function relayedSource(interfaceName: string): string {
  return `oifname != "${interfaceName}" ct mark ${markOf(interfaceName)} masquerade`;
}

/**
 * Returns the targets of relay ports. A relay forwards between addresses of one family.
 *
 * @param addressesOf resolves a host
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
      const { host, port } = hostAndPort(endpoint);
      const address = addressesOf(host)[family];
      // The tunnel's port is reserved for this gateway's packets.
      if (address === undefined || listenPort === own.listenPort || isWithin(address, [...nonRoutableBlocks, ...pools]))
        continue;
      ports.set(String(listenPort), "");
      targets.set(String(listenPort), `${address} . ${port}`);
      relayed.set(`${address} . ${port}`, "");
    }
    const type = `${addressType[family]} . inet_service`;
    const { kind, isInterval } = { kind: "set", isInterval: false } as const;
    sets.set(`relayports${family}`, { kind, isInterval, type: "inet_service", elements: ports });
    sets.set(`relayed${family}`, { kind, isInterval, type, elements: relayed });
    const sources = { kind, isInterval, type: addressType[family], elements: noElements, dynamicSize: mostSources };
    sets.set(relaySources[family], sources);
    sets.set(relayMap[family], { kind: "map", isInterval, type: `inet_service : ${type}`, elements: targets });
  }
  return sets;
}

/** Returns the relay ports whose target changed. Their conntrack entries must be flushed. */
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
