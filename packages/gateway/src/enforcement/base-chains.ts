/** The chains at the hooks of the kernel, which decide about each packet before the chains of destinations do. */
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import { families, word } from "./nft-elements.ts";
import type { NftState, TableParts } from "./nft-state.ts";
import { relayChains, relayedPackets, relayedSource } from "./relay-rules.ts";

/** ICMP errors about packets that were allowed. */
const errorTypes = {
  4: "icmp type { destination-unreachable, time-exceeded, parameter-problem }",
  6: "icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem }",
} as const;

/** The port of the gateway's DNS server. */
const dnsPort = 53;
/** The ports of DNS over UDP, TCP and TLS. Names never open them at resolvers. */
const resolverPorts = "{ 53, 853 }";

/** The machine's settings for forwarding, which are not part of the configuration. */
export interface ForwardingSettings {
  /** The validated name of the WireGuard interface. */
  readonly interfaceName: string;
  /**
   * Whether devices keep their tunnel addresses at the site, which then needs a route back to them. Otherwise, the
   * gateway masquerades them, so that answers return through it.
   */
  readonly keepsSource: boolean;
}

export function addBaseChains(
  { interfaceName, keepsSource }: ForwardingSettings,
  content: ConfigurationContent,
  { expiresAt, hasEnded }: { readonly expiresAt: number; readonly hasEnded: boolean },
  { chains, counters }: TableParts,
): void {
  const { drain, relay, interface: own } = content.settings;
  const ownAddress = { 4: own.ipv4, 6: own.ipv6 };
  const dropFrom = (moment: number) => `meta time >= ${Math.floor(moment / 1000)} goto refused`;
  const dropRules = [
    dropFrom(expiresAt),
    ...(drain === undefined ? [] : [dropFrom(drain.until), "ct state new goto refused"]),
    "ct state invalid goto refused",
  ];
  chains.set("allowed", ["counter name allowed accept"]);
  chains.set("refused", ["counter name dropped drop"]);
  chains.set("traffic", [
    ...dropRules,
    ...(hasEnded ? families.map((family) => `ct original ${word[family]} saddr @ended${family} goto refused`) : []),
    ...families.map((family) => `ct state related ${errorTypes[family]} goto allowed`),
    // The other site decides about connections from behind this gateway.
    ...families.map(
      (family) =>
        `ct original ${word[family]} saddr != @devices${family} ct original ${word[family]} saddr != @sites${family} ` +
        `ct original ${word[family]} daddr @sites${family} goto allowed`,
    ),
    ...destinationMaps("hosts"),
    // A name never opens the gateway's machine, even if the machine gets the address later.
    "ct direction original fib daddr type != unicast goto unnamed",
    ...families.map(
      (family) =>
        `ct original ${word[family]} daddr @resolvers${family} meta l4proto { tcp, udp } ` +
        `ct original proto-dst ${resolverPorts} goto unnamed`,
    ),
    ...destinationMaps("names"),
    "goto unnamed",
  ]);
  chains.set("unnamed", [...destinationMaps("blocks"), "goto internet"]);
  chains.set("forward", [
    "type filter hook forward priority filter ; policy accept ;",
    ...throughTunnel(interfaceName, "forward", "goto traffic"),
    relayedPackets(interfaceName, relay === undefined ? "goto refused" : "goto relaying"),
  ]);
  if (relay !== undefined) {
    counters.add("relayed");
    for (const [name, lines] of relayChains(interfaceName, dropRules)) chains.set(name, lines);
  }
  chains.set("input", [
    "type filter hook input priority filter ; policy accept ;",
    // Linux accepts packets for any of its addresses on every interface. Only WireGuard verifies source addresses.
    ...families.map(
      (family) => `iifname != { "${interfaceName}", "lo" } ${word[family]} daddr ${ownAddress[family]} goto refused`,
    ),
    `iifname "${interfaceName}" ${dropFrom(expiresAt)}`,
    `iifname "${interfaceName}" ct direction reply ct state established accept`,
    ...families.flatMap((family) => {
      const toItself = `iifname "${interfaceName}" ${word[family]} saddr @devices${family} ${word[family]} daddr ${ownAddress[family]}`;
      return [
        `${toItself} meta l4proto { tcp, udp } th dport ${dnsPort} accept`,
        `${toItself} ${family === 4 ? "icmp" : "icmpv6"} type echo-request accept`,
      ];
    }),
    `iifname "${interfaceName}" goto traffic`,
    // Relayed packets never end at this machine.
    relayedPackets(interfaceName, "goto refused"),
  ]);
  chains.set("outbound", [
    "type nat hook postrouting priority srcnat ; policy accept ;",
    ...(relay === undefined ? [] : [relayedSource(interfaceName)]),
    ...families.map(
      (family) =>
        `oifname != "${interfaceName}" ${word[family]} saddr @devices${family} ${keepsSource ? `${word[family]} daddr != @local${family} ` : ""}masquerade`,
    ),
  ]);
}

function destinationMaps(map: "hosts" | "names" | "blocks"): readonly string[] {
  return families.map((family) => `ct original ${word[family]} daddr vmap @${map}${family}`);
}

function throughTunnel(interfaceName: string, hook: string, verdict: string): readonly string[] {
  const into = `iifname "${interfaceName}" ${verdict}`;
  return hook === "input" ? [into] : [into, `oifname "${interfaceName}" ${verdict}`];
}

/** Returns the table that drops all traffic, for a gateway without a valid configuration. */
export function closedTable(interfaceName: string): NftState {
  const drop = (hook: string) => [
    `type filter hook ${hook} priority filter ; policy accept ;`,
    ...throughTunnel(interfaceName, hook, "counter name dropped drop"),
  ];
  return {
    sets: new Map(),
    chains: new Map([
      ["forward", [...drop("forward"), relayedPackets(interfaceName, "counter name dropped drop")]],
      ["input", drop("input")],
    ]),
    counters: new Set(["dropped"]),
  };
}
