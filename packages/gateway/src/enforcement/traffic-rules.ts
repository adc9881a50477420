/**
 * Converts a configuration to an nftables table: gateway/SPEC.md, "Meaning of a configuration".
 *
 * Every packet is checked against the original addresses of its connection (`ct original`), in both directions. No
 * packet passes because its connection is established. The transaction that removes a device from a set therefore also
 * ends its connections, without a second step that could fail or be late.
 */
import { disjointRanges, rangeAt } from "@gatehouse/addresses/disjoint-ranges";
import { type Family, type IpBlock, parseIpBlock } from "@gatehouse/addresses/ip-block";
import { localBlocks } from "@gatehouse/addresses/special-purpose";
import { destinationsOfNames, type NamedAddresses } from "@gatehouse/agent-core/dns/named-services";
import { resolverAddresses } from "@gatehouse/agent-core/dns/upstream";
import type { ConfigurationContent, Destination } from "@gatehouse/agent-protocol/gateway/configuration";
import { contentAt, endedDevices } from "../configuration/time-windows.ts";
import type { HostAddresses } from "../names/endpoint-hosts.ts";
import { addResources, ClassSets, internetRules, offerChains } from "./access-chains.ts";
import { addBaseChains, type ForwardingSettings } from "./base-chains.ts";
import { type Chain, destinationChain, sharedChain } from "./destination-chains.ts";
import { addressType, blockElements, families, nftSet, rangeText, validBlock } from "./nft-elements.ts";
import type { NftSet, NftState, TableParts } from "./nft-state.ts";
import { relaySets } from "./relay-rules.ts";

/** The part of the table that does not depend on resolved names. */
export interface PolicyPart extends TableParts {
  /** Returns the chain of an address with these destinations, and the chains that it needs. */
  readonly chainsFor: (destinations: readonly Destination[]) => readonly Chain[];
  /** Returns the destination of the longest block that contains an address. */
  readonly blockOf: (address: string) => Destination | undefined;
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
  const parts: TableParts = { sets: new Map(), chains: new Map(), counters: new Set(["allowed", "dropped"]) };
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
    const names = nftSet("map", `${addressType[family]} : verdict`, false, elements[family]);
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
    sets.set(`devices${family}`, nftSet("set", addressType[family], false, devices[family]));
    sets.set(`sites${family}`, nftSet("set", addressType[family], true, blockElements(sites, family)));
    sets.set(`local${family}`, nftSet("set", addressType[family], true, blockElements(localBlocks, family)));
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
  for (const family of families)
    sets.set(`ended${family}`, nftSet("set", addressType[family], false, elements[family]));
  return true;
}

function addDestinations(
  content: ConfigurationContent,
  { sets, chains }: TableParts,
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
    sets.set(`hosts${family}`, nftSet("map", type, false, hosts[family]));
    sets.set(`blocks${family}`, nftSet("map", type, true, elements));
  }
  return (address) => {
    const single = parseIpBlock(address);
    return single === undefined ? undefined : rangeAt(ofFamily[single.family], single.first)?.value.destination;
  };
}

function addResolvers({ settings }: ConfigurationContent, sets: Map<string, NftSet>): void {
  const addresses = resolverAddresses(settings).map(validBlock);
  for (const family of families) {
    sets.set(`resolvers${family}`, nftSet("set", addressType[family], true, blockElements(addresses, family)));
  }
}
