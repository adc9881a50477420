/**
 * From a configuration to the table of nftables: SPEC.md of the gateway link, "What a configuration means".
 *
 * Every packet is held against the addresses with which its connection began (`ct original`), in both directions, and nothing is let
 * through for being established. So one transaction that takes a device out of a set also cuts its running connections, and there is
 * no second step that could fail or come late.
 */
import { createHash } from "node:crypto";
import { disjointRanges } from "@gatehouse/addresses/disjoint-ranges";
import { type Family, formatAddress, type IpBlock, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { type NamedAddresses, namedServices } from "@gatehouse/agent-core/dns/named-services";
import {
  type ConfigurationContent,
  type Destination,
  type DeviceRule,
  everyDevice,
  type Service,
  type SiteRule,
} from "@gatehouse/agent-protocol/gateway/configuration";
import type { HostAddresses } from "../names/endpoint-hosts.ts";
import type { NftSet, NftState } from "./nft-state.ts";
import { relayChains, relayedPackets, relayedSource, relaySets } from "./relay-rules.ts";
import { isOpen } from "./time-windows.ts";

/** What is never the internet: addresses of sites, machines, links and groups (IANA special-purpose registries). */
const localBlocks = {
  4: [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "224.0.0.0/3",
  ],
  6: ["::/127", "::ffff:0:0/96", "64:ff9b::/96", "fc00::/7", "fe80::/10", "ff00::/8"],
} as const;

const families = [4, 6] as const;
const addressType = { 4: "ipv4_addr", 6: "ipv6_addr" } as const;
const word = { 4: "ip", 6: "ip6" } as const;
const icmp = { 4: "icmp", 6: "ipv6-icmp" } as const;
/** Kinds of connections that follow from another one's failure; what they say is about packets that were let through. */
const errorTypes = {
  4: "icmp type { destination-unreachable, time-exceeded, parameter-problem }",
  6: "icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem }",
} as const;

/** Where DNS is answered. */
const dnsPort = 53;

interface Parts {
  readonly sets: Map<string, NftSet>;
  readonly chains: Map<string, readonly string[]>;
  readonly counters: Set<string>;
}

/** Everything of the table that does not depend on resolved names. */
export interface PolicyPart extends Parts {
  /** To put names' destinations into. */
  readonly chainFor: (destination: Destination) => readonly [chain: string, lines: readonly string[]];
}

/** How a gateway carries traffic, whatever the configuration says. */
export interface Carriage {
  /** Of WireGuard, already checked. */
  readonly interfaceName: string;
  /**
   * Devices keep their own addresses at the site, which then needs a route back to them. Otherwise they come with the gateway's
   * address, so that answers find their way through the gateway that carried the question.
   */
  readonly keepsSource: boolean;
}

/**
 * @param now milliseconds since 1970: which time windows are open
 * @param expiresAt the kernel itself drops everything from then on, also when no agent runs
 */
export function policyPart(
  carriage: Carriage,
  content: ConfigurationContent,
  now: number,
  expiresAt: number,
): PolicyPart {
  const parts: Parts = { sets: new Map(), chains: new Map(), counters: new Set(["allowed", "dropped"]) };
  const classSets = new ClassSets(content, now, parts.sets);
  addPeerSets(content, parts.sets);
  addResources(content, now, classSets, parts);
  parts.chains.set("internet", internetRules(content, now, classSets));
  const chainFor = (destination: Destination) =>
    destinationChain(destination, (id) => parts.chains.has(resourceChain(id)));
  addDestinations(content, parts, chainFor);
  addBaseChains(carriage, content, expiresAt, parts);
  return { ...parts, chainFor };
}

/**
 * The whole table.
 *
 * @param named which destinations' names each address was resolved for
 * @param addressesOf where the hosts of endpoints are
 */
export function withNames(
  policy: PolicyPart,
  content: ConfigurationContent,
  named: NamedAddresses,
  addressesOf: (host: string) => HostAddresses,
): NftState {
  const chains = new Map(policy.chains);
  const sets = new Map(policy.sets);
  if (content.settings.relay !== undefined) {
    for (const [name, relays] of relaySets(content, addressesOf)) sets.set(name, relays);
  }
  const elements = { 4: new Map<string, string>(), 6: new Map<string, string>() };
  for (const [address, names] of named) {
    const family: Family = address.includes(":") ? 6 : 4;
    const [chain, lines] = policy.chainFor(namedServices(content, names));
    chains.set(chain, lines);
    elements[family].set(address, `goto ${chain}`);
  }
  for (const family of families) {
    sets.set(`names${family}`, set("map", `${addressType[family]} : verdict`, false, elements[family]));
  }
  return { sets, chains, counters: policy.counters };
}

/** What there is when nothing may be enforced: nothing passes. */
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

/** Sets of the members that classes have at the moment, made for the classes that rules name. */
class ClassSets {
  readonly #content: ConfigurationContent;
  readonly #now: number;
  readonly #sets: Map<string, NftSet>;

  constructor(content: ConfigurationContent, now: number, sets: Map<string, NftSet>) {
    this.#content = content;
    this.#now = now;
    this.#sets = sets;
  }

  nameOf(key: string, family: Family): string {
    if (key === everyDevice) return `devices${family}`;
    const name = `class_${hashOf(key)}_`;
    if (!this.#sets.has(`${name}4`)) this.#make(key, name);
    return `${name}${family}`;
  }

  #make(key: string, name: string): void {
    const elements = { 4: new Map<string, string>(), 6: new Map<string, string>() };
    for (const [member, membership] of Object.entries(this.#content.classes[key] ?? {})) {
      const peer = this.#content.peers[member];
      if (peer?.kind !== "device" || !isOpen(membership, this.#now)) continue;
      elements[4].set(member, "");
      elements[6].set(peer.ipv6, "");
    }
    for (const family of families)
      this.#sets.set(`${name}${family}`, set("set", addressType[family], false, elements[family]));
  }
}

function addPeerSets(content: ConfigurationContent, sets: Map<string, NftSet>): void {
  const devices = { 4: new Map<string, string>(), 6: new Map<string, string>() };
  const sites: IpBlock[] = [];
  for (const [ipv4, peer] of Object.entries(content.peers)) {
    if (peer.kind === "device") {
      devices[4].set(ipv4, "");
      devices[6].set(peer.ipv6, "");
    } else {
      sites.push(...[ipv4, peer.ipv6, ...peer.networks].map(checkedBlock));
    }
  }
  for (const family of families) {
    sets.set(`devices${family}`, set("set", addressType[family], false, devices[family]));
    sets.set(`sites${family}`, set("set", addressType[family], true, blockElements(sites, family)));
    sets.set(
      `local${family}`,
      set("set", addressType[family], true, blockElements(localBlocks[family].map(checkedBlock), family)),
    );
  }
}

function addResources(
  content: ConfigurationContent,
  now: number,
  classSets: ClassSets,
  { chains, counters }: Parts,
): void {
  for (const [id, { devices, sites }] of Object.entries(content.resources)) {
    const counter = `resource-${id}`;
    counters.add(counter);
    const lines = [
      ...deviceLines(devices, now, classSets, `counter name ${counter} goto allowed`),
      ...siteLines(sites, now, counter),
    ];
    chains.set(resourceChain(id), [...lines, "goto refused"]);
  }
}

function deviceLines(rules: readonly DeviceRule[], now: number, classSets: ClassSets, allow: string): string[] {
  const lines: string[] = [];
  for (const { action, classes, windows } of rules) {
    if (!isOpen(windows, now)) continue;
    for (const key of classes) {
      for (const family of families) {
        const source = `ct original ${word[family]} saddr @${classSets.nameOf(key, family)}`;
        lines.push(`${source} ${action === "allow" ? allow : "goto refused"}`);
      }
    }
  }
  return lines;
}

function siteLines(rules: readonly SiteRule[], now: number, counter: string): string[] {
  const lines: string[] = [];
  for (const { action, sources, windows } of rules) {
    if (!isOpen(windows, now)) continue;
    const verdict = action === "allow" ? `counter name ${counter} goto allowed` : "goto refused";
    for (const family of families) {
      const fromSite = `ct original ${word[family]} saddr @sites${family}`;
      const blocks = blockElements(sources.map(checkedBlock), family);
      if (sources.length === 0) lines.push(`${fromSite} ${verdict}`);
      else if (blocks.size > 0) {
        lines.push(`${fromSite} ct original ${word[family]} saddr { ${[...blocks.keys()].join(", ")} } ${verdict}`);
      }
    }
  }
  return lines;
}

function internetRules(content: ConfigurationContent, now: number, classSets: ClassSets): readonly string[] {
  const rules = content.settings.internet?.devices ?? [];
  return [
    // Neither the site's own addresses nor the gateway itself are the internet, whatever the rules say.
    ...families.map((family) => `ct original ${word[family]} daddr @local${family} goto refused`),
    "ct direction original fib daddr type != unicast goto refused",
    ...deviceLines(rules, now, classSets, "goto allowed"),
    "goto refused",
  ];
}

function addDestinations(
  content: ConfigurationContent,
  { sets, chains }: Parts,
  chainFor: PolicyPart["chainFor"],
): void {
  const hosts = { 4: new Map<string, string>(), 6: new Map<string, string>() };
  const blocks: { block: IpBlock; value: string }[] = [];
  for (const [key, destination] of Object.entries(content.destinations)) {
    if (!key.includes("/")) continue;
    const block = checkedBlock(key);
    const [chain, lines] = chainFor(destination);
    chains.set(chain, lines);
    if (block.first === block.last) hosts[block.family].set(formatAddress(block.family, block.first), `goto ${chain}`);
    else blocks.push({ block, value: `goto ${chain}` });
  }
  for (const family of families) {
    const ranges = disjointRanges(blocks.filter(({ block }) => block.family === family));
    const elements = new Map(ranges.map((range) => [rangeText(family, range.first, range.last), range.value]));
    const type = `${addressType[family]} : verdict`;
    sets.set(`hosts${family}`, set("map", type, false, hosts[family]));
    sets.set(`blocks${family}`, set("map", type, true, elements));
  }
}

/** A chain is named by what it does, so that equal destinations share one, and a changed one is another. */
function destinationChain(
  { services, otherwise }: Destination,
  isKnown: (resource: string) => boolean,
): readonly [string, readonly string[]] {
  const lines: string[] = [];
  for (const service of services) {
    const { resource } = service;
    const verdict = resource === undefined || !isKnown(resource) ? "goto refused" : `goto ${resourceChain(resource)}`;
    lines.push(...serviceMatches(service).map((match) => `${match} ${verdict}`));
  }
  lines.push(otherwise === "internet" ? "goto internet" : "goto refused");
  return [`destination_${hashOf(lines.join("\n"))}`, lines];
}

function serviceMatches({ protocol, ports }: Service): readonly string[] {
  if (protocol === "ICMP") return families.map((family) => `meta l4proto ${icmp[family]}`);
  const transport = `meta l4proto ${protocol === "TCP" ? "tcp" : "udp"}`;
  if (ports === undefined) return [transport];
  const [first, last] = ports;
  return [`${transport} ct original proto-dst ${first === last ? first : `${first}-${last}`}`];
}

function addBaseChains(
  { interfaceName, keepsSource }: Carriage,
  content: ConfigurationContent,
  expiresAt: number,
  { chains, counters }: Parts,
): void {
  const { drain, relay, interface: own } = content.settings;
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
    ...families.map((family) => `ct state related ${errorTypes[family]} goto allowed`),
    // What begins behind this gateway and goes to another site is decided there, where it comes out of the tunnel.
    ...families.map(
      (family) =>
        `ct original ${word[family]} saddr != @devices${family} ct original ${word[family]} saddr != @sites${family} ` +
        `ct original ${word[family]} daddr @sites${family} goto allowed`,
    ),
    ...families.flatMap((family) =>
      ["hosts", "names", "blocks"].map((map) => `ct original ${word[family]} daddr vmap @${map}${family}`),
    ),
    "goto internet",
  ]);
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
    `iifname "${interfaceName}" ${dropFrom(expiresAt)}`,
    `iifname "${interfaceName}" ct direction reply ct state established accept`,
    ...families.flatMap((family) => {
      const toItself = `iifname "${interfaceName}" ${word[family]} saddr @devices${family} ${word[family]} daddr ${family === 4 ? own.ipv4 : own.ipv6}`;
      return [
        `${toItself} meta l4proto { tcp, udp } th dport ${dnsPort} accept`,
        `${toItself} ${family === 4 ? "icmp" : "icmpv6"} type echo-request accept`,
      ];
    }),
    `iifname "${interfaceName}" goto traffic`,
    // Nothing is relayed to the machine itself.
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

function throughTunnel(interfaceName: string, hook: string, verdict: string): readonly string[] {
  const into = `iifname "${interfaceName}" ${verdict}`;
  return hook === "input" ? [into] : [into, `oifname "${interfaceName}" ${verdict}`];
}

function resourceChain(id: string): string {
  return `resource_${id}`;
}

function set(kind: NftSet["kind"], type: string, isInterval: boolean, elements: ReadonlyMap<string, string>): NftSet {
  return { kind, type, isInterval, elements };
}

/** Without blocks that another one holds: the kernel's sets take no overlaps. */
function blockElements(blocks: readonly IpBlock[], family: Family): Map<string, string> {
  const ofFamily = blocks.filter((block) => block.family === family).map((block) => ({ block, value: "" }));
  return new Map(disjointRanges(ofFamily).map(({ first, last }) => [rangeText(family, first, last), ""]));
}

function rangeText(family: Family, first: bigint, last: bigint): string {
  const from = formatAddress(family, first);
  return first === last ? from : `${from}-${formatAddress(family, last)}`;
}

/** @throws where it is none, which `check-content.ts` has ruled out */
function checkedBlock(text: string): IpBlock {
  const block = parseIpBlock(text);
  if (block === undefined) throw new Error(`${JSON.stringify(text)} is not an address block`);
  return block;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
