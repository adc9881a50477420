/** The chains that allow devices and sites to reach resources and the internet. */
import type { Family } from "@gatehouse/addresses/ip-block";
import {
  type ConfigurationContent,
  type Destination,
  type DeviceRule,
  everyDevice,
  type SiteRule,
} from "@gatehouse/agent-protocol/gateway/configuration";
import { isOpen } from "../configuration/time-windows.ts";
import { type Chain, hashOf, offerChain, resourceChain } from "./destination-chains.ts";
import { addressType, blockElements, families, nftSet, validBlock, word } from "./nft-elements.ts";
import type { NftSet, TableParts } from "./nft-state.ts";

/** Creates the sets of current class members, for the classes that rules refer to. */
export class ClassSets {
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
      this.#sets.set(`${name}${family}`, nftSet("set", addressType[family], false, elements[family]));
  }
}

export function addResources(
  content: ConfigurationContent,
  now: number,
  classSets: ClassSets,
  { chains, counters }: TableParts,
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

export function internetRules(content: ConfigurationContent, now: number, classSets: ClassSets): readonly string[] {
  const rules = content.settings.internet?.devices ?? [];
  return [
    // Local addresses and the gateway itself are never the internet.
    ...families.map((family) => `ct original ${word[family]} daddr @local${family} goto refused`),
    "ct direction original fib daddr type != unicast goto refused",
    ...deviceLines(rules, now, classSets, "goto allowed", "goto refused"),
    "goto refused",
  ];
}

/** Returns the chains of resources at a shared address. They return if a resource's own chain would drop. */
export function offerChains(
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
