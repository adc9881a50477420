/**
 * Converts a configuration to an nftables table: gateway/SPEC.md, "Meaning of a configuration".
 *
 * Every packet is checked against the original addresses of its connection (`ct original`), in both directions. No
 * packet passes because its connection is established. The transaction that removes a device from a set therefore also
 * ends its connections, without a second step that could fail or be late.
 */
import { disjointRanges, rangeAt } from "@gatehouse/addresses/disjoint-ranges";
import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { type Family, type IpBlock, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { localBlocks } from "@gatehouse/addresses/special-purpose";
import { destinationsOfNames, type NamedAddresses } from "@gatehouse/agent-core/dns/named-services";
import { resolverAddresses } from "@gatehouse/agent-core/dns/upstream";
import {
  type ConfigurationContent,
  type Destination,
  type DeviceRule,
  everyDevice,
  type SiteRule,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { contentAt, endedDevices, isOpen } from "../configuration/time-windows.ts";
import type { HostAddresses } from "../names/endpoint-hosts.ts";
import { type Chain, destinationChain, hashOf, offerChain, resourceChain, sharedChain } from "./destination-chains.ts";
import type { NftSet, NftState } from "./nft-state.ts";
import { relayChains, relayedPackets, relayedSource, relaySets } from "./relay-rules.ts";

const families = [4, 6] as const;
const addressType = { 4: "ipv4_addr", 6: "ipv6_addr" } as const;
const word = { 4: "ip", 6: "ip6" } as const;
/** ICMP errors about packets that were allowed. */
const errorTypes = {
  4: "icmp type { destination-unreachable, time-exceeded, parameter-problem }",
  6: "icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem }",
} as const;

/** The port of the gateway's DNS server. */
const dnsPort = 53;
/** The ports of DNS over UDP, TCP and TLS. Names never open them at resolvers. */
const resolverPorts = "{ 53, 853 }";

interface Parts {
  readonly sets: Map<string, NftSet>;
  readonly chains: Map<string, readonly string[]>;
  readonly counters: Set<string>;
}

/** The part of the table that does not depend on resolved names. */
export interface PolicyPart extends Parts {
  /** Returns the chain of an address with these destinations, and the chains that it needs. */
  readonly chainsFor: (destinations: readonly Destination[]) => readonly Chain[];
  /** Returns the destination of the longest block that contains an address. */
  readonly blockOf: (address: string) => Destination | undefined;
}

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

/**
 * Returns the part of the table that depends on the configuration and the time.
 *
 * @param configured the content of the configuration
 * @param now milliseconds since 1970, which decides about time windows and the ends of sessions
 * @param expiresAt the time from which the kernel drops all traffic, even if no agent runs
 */
export function policyPart(
  forwarding: ForwardingSettings,
  configured: ConfigurationContent,
  now: number,
  expiresAt: number,
): PolicyPart {
  const content = contentAt(configured, now);
  const parts: Parts = { sets: new Map(), chains: new Map(), counters: new Set(["allowed", "dropped"]) };
  const classSets = new ClassSets(content, now, parts.sets);
  addPeerSets(content, parts.sets);
  const hasEnded = addEndedDevices(configured, now, parts.sets);
  addResources(content, now, classSets, parts);
  parts.chains.set("internet", internetRules(content, now, classSets));
  const isKnown = (id: string) => Object.hasOwn(content.resources, id);
  const chainsFor = (destinations: readonly Destination[]): readonly Chain[] => {
    const [only] = destinations;
    if (only !== undefined && destinations.length === 1) return [destinationChain(only, isKnown)];
    const shared = sharedChain(destinations, isKnown);
    return [...offerChains(destinations, content, now, classSets), shared];
  };
  const blockOf = addDestinations(content, parts, (destination) => destinationChain(destination, isKnown));
  addResolvers(content, parts.sets);
  addBaseChains(forwarding, content, { expiresAt, hasEnded }, parts);
  return { ...parts, chainsFor, blockOf };
}

/**
 * Adds resolved names to a policy part. Returns the complete table.
 *
 * @param named the destinations of each resolved address
 * @param addressesOf resolves the host of an endpoint
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
  const entered = new Map<string, { readonly destinations: readonly Destination[]; readonly verdict: string }>();
  const enter = (names: readonly string[]) => {
    const destinations = destinationsOfNames(content, names);
    const needed = policy.chainsFor(destinations);
    for (const [chain, lines] of needed) chains.set(chain, lines);
    return { destinations, verdict: `goto ${needed.at(-1)?.[0] ?? "refused"}` };
  };
  for (const [address, names] of named) {
    const family: Family = address.includes(":") ? 6 : 4;
    // Thousands of addresses have the same names, most of them those of one wildcard.
    const key = names.join(" ");
    const { destinations, verdict } = entered.get(key) ?? enter(names);
    entered.set(key, { destinations, verdict });
    const isWildcard = names.every((name) => name.startsWith("*"));
    if (isWildcard && isForeign(policy.blockOf(address), destinations)) continue;
    elements[family].set(address, verdict);
  }
  for (const family of families) {
    const names = set("map", `${addressType[family]} : verdict`, false, elements[family]);
    // Names are resolved again while devices use them.
    sets.set(`names${family}`, { ...names, isCounted: true });
  }
  return { sets, chains, counters: policy.counters };
}

/**
 * Whether a block belongs to other resources than these destinations. It then precedes the addresses of a wildcard: the
 * records below a wildcard are often written by people who may not grant access to the block.
 */
function isForeign(block: Destination | undefined, destinations: readonly Destination[]): boolean {
  if (block === undefined || block.otherwise === "internet") return false;
  const own = new Set(destinations.flatMap(({ services }) => services.map(({ resource }) => resource)));
  return (
    block.services.length === 0 || block.services.some(({ resource }) => resource === undefined || !own.has(resource))
  );
}

/** Returns the table that drops all traffic, for when there is no valid configuration. */
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

/** Creates the sets of current class members, for the classes that rules refer to. */
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
      sites.push(...[ipv4, peer.ipv6, ...peer.networks].map(validBlock));
    }
  }
  for (const family of families) {
    sets.set(`devices${family}`, set("set", addressType[family], false, devices[family]));
    sets.set(`sites${family}`, set("set", addressType[family], true, blockElements(sites, family)));
    sets.set(`local${family}`, set("set", addressType[family], true, blockElements(localBlocks, family)));
  }
}

/**
 * Adds the addresses of devices whose sessions have ended. The rules for unknown addresses do not apply to them, even
 * while WireGuard still has them as peers.
 *
 * @returns whether there are any
 */
function addEndedDevices(content: ConfigurationContent, now: number, sets: Map<string, NftSet>): boolean {
  const elements = { 4: new Map<string, string>(), 6: new Map<string, string>() };
  for (const key of endedDevices(content, now)) {
    elements[4].set(key, "");
    elements[6].set(content.peers[key]?.ipv6 ?? "", "");
  }
  if (elements[4].size === 0) return false;
  for (const family of families) sets.set(`ended${family}`, set("set", addressType[family], false, elements[family]));
  return true;
}

function addResources(
  content: ConfigurationContent,
  now: number,
  classSets: ClassSets,
  { chains, counters }: Parts,
): void {
  for (const [id, { devices, sites }] of Object.entries(content.resources)) {
    counters.add(`resource-${id}`);
    const lines = [
      ...deviceLines(devices, now, classSets, allowFor(id), "goto refused"),
      ...siteLines(sites, now, allowFor(id), "goto refused"),
    ];
    chains.set(resourceChain(id), [...lines, "goto refused"]);
  }
}

function allowFor(resource: string): string {
  return `counter name resource-${resource} goto allowed`;
}

function deviceLines(
  rules: readonly DeviceRule[],
  now: number,
  classSets: ClassSets,
  allow: string,
  deny: string,
): string[] {
  const lines: string[] = [];
  for (const { action, classes, windows } of rules) {
    if (!isOpen(windows, now)) continue;
    for (const key of classes) {
      for (const family of families) {
        const source = `ct original ${word[family]} saddr @${classSets.nameOf(key, family)}`;
        lines.push(`${source} ${action === "allow" ? allow : deny}`);
      }
    }
  }
  return lines;
}

function siteLines(rules: readonly SiteRule[], now: number, allow: string, deny: string): string[] {
  const lines: string[] = [];
  for (const { action, sources, windows } of rules) {
    if (!isOpen(windows, now)) continue;
    const verdict = action === "allow" ? allow : deny;
    for (const family of families) {
      const fromSite = `ct original ${word[family]} saddr @sites${family}`;
      const blocks = blockElements(sources.map(validBlock), family);
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
    // Local addresses and the gateway itself are never the internet.
    ...families.map((family) => `ct original ${word[family]} daddr @local${family} goto refused`),
    "ct direction original fib daddr type != unicast goto refused",
    ...deviceLines(rules, now, classSets, "goto allowed", "goto refused"),
    "goto refused",
  ];
}

function addDestinations(
  content: ConfigurationContent,
  { sets, chains }: Parts,
  chainFor: (destination: Destination) => Chain,
): PolicyPart["blockOf"] {
  const hosts = { 4: new Map<string, string>(), 6: new Map<string, string>() };
  const blocks: { block: IpBlock; value: { chain: string; destination: Destination } }[] = [];
  for (const [key, destination] of Object.entries(content.destinations)) {
    if (!key.includes("/")) continue;
    const block = validBlock(key);
    const [chain, lines] = chainFor(destination);
    chains.set(chain, lines);
    if (block.first === block.last)
      hosts[block.family].set(rangeText(block.family, block.first, block.last), `goto ${chain}`);
    else blocks.push({ block, value: { chain, destination } });
  }
  const rangesOf = (family: Family) => disjointRanges(blocks.filter(({ block }) => block.family === family));
  const ofFamily = { 4: rangesOf(4), 6: rangesOf(6) };
  for (const family of families) {
    const elements = new Map(
      ofFamily[family].map(({ first, last, value }) => [rangeText(family, first, last), `goto ${value.chain}`]),
    );
    const type = `${addressType[family]} : verdict`;
    sets.set(`hosts${family}`, set("map", type, false, hosts[family]));
    sets.set(`blocks${family}`, set("map", type, true, elements));
  }
  return (address) => {
    const single = parseIpBlock(address);
    return single === undefined ? undefined : rangeAt(ofFamily[single.family], single.first)?.value.destination;
  };
}

function addResolvers({ settings }: ConfigurationContent, sets: Map<string, NftSet>): void {
  const addresses = resolverAddresses(settings).map(validBlock);
  for (const family of families) {
    sets.set(`resolvers${family}`, set("set", addressType[family], true, blockElements(addresses, family)));
  }
}

/** Returns the chains of resources at a shared address. They return where a resource's own chain drops. */
function offerChains(
  destinations: readonly Destination[],
  { resources }: ConfigurationContent,
  now: number,
  classSets: ClassSets,
): readonly Chain[] {
  const ids = new Set(destinations.flatMap(({ services }) => services.flatMap(({ resource }) => resource ?? [])));
  return [...ids].flatMap((id): Chain[] => {
    const rules = resources[id];
    if (rules === undefined) return [];
    const lines = [
      ...deviceLines(rules.devices, now, classSets, allowFor(id), "return"),
      ...siteLines(rules.sites, now, allowFor(id), "return"),
    ];
    return [[offerChain(id), lines]];
  });
}

function addBaseChains(
  { interfaceName, keepsSource }: ForwardingSettings,
  content: ConfigurationContent,
  { expiresAt, hasEnded }: { readonly expiresAt: number; readonly hasEnded: boolean },
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
    ...(hasEnded ? families.map((family) => `ct original ${word[family]} saddr @ended${family} goto refused`) : []),
    ...families.map((family) => `ct state related ${errorTypes[family]} goto allowed`),
    // The other site decides about connections from behind this gateway.
    ...families.map(
      (family) =>
        `ct original ${word[family]} saddr != @devices${family} ct original ${word[family]} saddr != @sites${family} ` +
        `ct original ${word[family]} daddr @sites${family} goto allowed`,
    ),
    ...destinationMaps("hosts"),
    // A name never opens the machine itself, even if it gets the address later.
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

function set(kind: NftSet["kind"], type: string, isInterval: boolean, elements: ReadonlyMap<string, string>): NftSet {
  return { kind, type, isInterval, elements };
}

/** Returns disjoint ranges, because the kernel's sets accept no overlaps. */
function blockElements(blocks: readonly IpBlock[], family: Family): Map<string, string> {
  const ofFamily = blocks.filter((block) => block.family === family).map((block) => ({ block, value: "" }));
  return new Map(disjointRanges(ofFamily).map(({ first, last }) => [rangeText(family, first, last), ""]));
}

function rangeText(family: Family, first: bigint, last: bigint): string {
  const format = (bits: bigint) => formatIpAddress({ version: family, bits });
  return first === last ? format(first) : `${format(first)}-${format(last)}`;
}

/** @throws Error for an invalid block, which `validate-configuration.ts` rules out */
function validBlock(text: string): IpBlock {
  const block = parseIpBlock(text);
  if (block === undefined) throw new Error(`${JSON.stringify(text)} is not an address block`);
  return block;
}
