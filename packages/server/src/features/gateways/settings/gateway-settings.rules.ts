/** The settings of a gateway's site: their form, and conflicts between gateways. */

import { parseAddressText } from "@gatehouse/addresses/address-text";
import {
  formatIpRange,
  type IpRange,
  lastAddressOf,
  parseIpRange,
  rangesOverlap,
} from "@gatehouse/addresses/ip-ranges";
import { privateAddressProblem } from "@gatehouse/addresses/special-purpose";
import type { ProblemField } from "@gatehouse/contract/problem";

export interface SiteDomain {
  readonly domain: string;
  readonly resolvers: readonly string[];
}

/** The site settings in canonical form. */
export interface SiteSettings {
  readonly resolvers: readonly string[];
  readonly domains: readonly SiteDomain[];
  /** CIDRs; null for the networks of the resources whose first gateway this is. */
  readonly networks: readonly string[] | null;
  readonly relayPort: number | null;
}

export const noSiteSettings: SiteSettings = { resolvers: [], domains: [], networks: null, relayPort: null };

export type SiteSettingsReading =
  | { readonly ok: true; readonly value: SiteSettings }
  | { readonly ok: false; readonly errors: readonly ProblemField[] };

/**
 * Settings in canonical form.
 *
 * @returns problems with pointers into `/resolvers`, `/domains` and `/networks`
 */
export function canonicalSiteSettings({ resolvers, domains, networks, relayPort }: SiteSettings): SiteSettingsReading {
  const errors: ProblemField[] = [];
  const value: SiteSettings = {
    resolvers: canonicalResolvers(resolvers, "/resolvers", errors),
    domains: canonicalDomains(domains, errors),
    networks: networks === null ? null : canonicalNetworks(networks, errors),
    relayPort,
  };
  return errors.length > 0 ? { ok: false, errors } : { ok: true, value };
}

function canonicalResolvers(texts: readonly string[], at: string, errors: ProblemField[]): readonly string[] {
  const resolvers = new Set<string>();
  for (const [index, text] of texts.entries()) {
    const reading = parseAddressText(text.trim());
    if (!reading.ok) errors.push({ pointer: `${at}/${index}`, message: reading.problem });
    else if (reading.value.kind !== "ip") {
      errors.push({ pointer: `${at}/${index}`, message: `${reading.value.text} is not one IP address` });
    } else resolvers.add(reading.value.text);
  }
  return [...resolvers];
}

function canonicalDomains(domains: readonly SiteDomain[], errors: ProblemField[]): readonly SiteDomain[] {
  const known = new Set<string>();
  return domains.map(({ domain: text, resolvers }, index) => {
    const pointer = `/domains/${index}/domain`;
    const reading = parseAddressText(text.trim());
    const domain = reading.ok && reading.value.kind === "host" ? reading.value.text : undefined;
    if (!reading.ok) errors.push({ pointer, message: reading.problem });
    else if (domain === undefined) {
      errors.push({ pointer, message: `${reading.value.text} is not a domain; write it as example.com, without *` });
    } else if (known.has(domain)) errors.push({ pointer, message: `${domain} is already in the list` });
    known.add(domain ?? text);
    return { domain: domain ?? text, resolvers: canonicalResolvers(resolvers, `/domains/${index}/resolvers`, errors) };
  });
}

function canonicalNetworks(texts: readonly string[], errors: ProblemField[]): readonly string[] {
  const ranges: IpRange[] = [];
  for (const [index, text] of texts.entries()) {
    const pointer = `/networks/${index}`;
    const reading = parseIpRange(text.trim());
    if (!reading.ok) {
      errors.push({ pointer, message: reading.problem });
      continue;
    }
    const problem = networkProblem(reading.value, ranges);
    if (problem !== undefined) errors.push({ pointer, message: problem });
    else ranges.push(reading.value);
  }
  return ranges.map(formatIpRange);
}

/**
 * A route into the tunnel to public addresses would also catch packets to the other gateways, which would never leave.
 */
function networkProblem(range: IpRange, before: readonly IpRange[]): string | undefined {
  const text = formatIpRange(range);
  const problem = privateAddressProblem(range);
  if (problem?.reason === "globally_reachable") {
    return `${text} is or contains ${problem.conflict}, which is not reserved for private networks`;
  }
  if (problem !== undefined) return `${text} overlaps ${problem.conflict}, the address pool of devices`;
  const other = before.find((one) => rangesOverlap(one, range));
  return other === undefined ? undefined : `${text} overlaps ${formatIpRange(other)} of this list`;
}

/** The fields of a gateway that can conflict with other gateways. */
export interface SitedGateway {
  readonly name: string;
  readonly networks: readonly string[] | null;
  readonly relayPort: number | null;
}

/** A conflict between two gateways. */
export interface SiteConflict {
  readonly name: string;
  readonly field: "networks" | "relayPort";
  readonly message: string;
}

/** The conflicts between a tenant's gateways. Each names the later gateway in the list. */
export function siteConflicts(gateways: readonly SitedGateway[]): readonly SiteConflict[] {
  return [...networkConflicts(gateways), ...portConflicts(gateways)];
}

function networkConflicts(gateways: readonly SitedGateway[]): readonly SiteConflict[] {
  const blocks = gateways.flatMap(({ name, networks }, place) =>
    (networks ?? []).flatMap((text) => {
      const reading = parseIpRange(text);
      return reading.ok ? [{ name, place, range: reading.value, text }] : [];
    }),
  );
  // Blocks are nested or disjoint: in this order, a block that overlaps another one starts before the other one ends.
  blocks.sort(
    (a, b) =>
      a.range.version - b.range.version ||
      (a.range.first < b.range.first ? -1 : a.range.first > b.range.first ? 1 : 0) ||
      a.range.prefixLength - b.range.prefixLength,
  );
  const conflicts: SiteConflict[] = [];
  let open: (typeof blocks)[number] | undefined;
  for (const block of blocks) {
    const isInside =
      open?.range.version === block.range.version && lastAddressOf(open.range) >= lastAddressOf(block.range);
    if (open === undefined || !isInside) {
      open = block;
      continue;
    }
    if (open.place === block.place) continue;
    const [one, other] = open.place > block.place ? [open, block] : [block, open];
    conflicts.push({
      name: one.name,
      field: "networks",
      message: `${one.text} overlaps ${other.text}, which is behind the gateway ${JSON.stringify(other.name)}`,
    });
  }
  return conflicts;
}

function portConflicts(gateways: readonly SitedGateway[]): readonly SiteConflict[] {
  const holders = new Map<number, string>();
  return gateways.flatMap(({ name, relayPort }): SiteConflict[] => {
    const holder = relayPort === null ? undefined : holders.get(relayPort);
    if (relayPort !== null && holder === undefined) holders.set(relayPort, name);
    if (holder === undefined) return [];
    return [
      { name, field: "relayPort", message: `${relayPort} is the relay port of the gateway ${JSON.stringify(holder)}` },
    ];
  });
}
