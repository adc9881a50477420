import { addressWidth, formatIpAddress, type IpVersion } from "./ip-address.ts";
import { type IpBlock, parseIpBlock } from "./ip-block.ts";
import { type IpRange, lastAddressOf, parseIpRange, rangeContains, rangesOverlap } from "./ip-ranges.ts";

/** The scope in which addresses of a block are meaningful. Absent: irrelevant for gateways. */
type Scope = "host" | "link" | "group" | "reserved" | "site" | "translation";

interface SpecialPurposeBlock {
  readonly block: string;
  /** The registry's "Globally Reachable"; null if the registry says N/A, or the block is in another registry. */
  readonly globallyReachable: boolean | null;
  readonly name: string;
  readonly source: string;
  readonly scope?: Scope | undefined;
}

const no = (block: string, name: string, source: string, scope?: Scope): SpecialPurposeBlock => {
  return { block, globallyReachable: false, name, source, scope };
};
const yes = (block: string, name: string, source: string, scope?: Scope): SpecialPurposeBlock => {
  return { block, globallyReachable: true, name, source, scope };
};
const notApplicable = (block: string, name: string, source: string, scope?: Scope): SpecialPurposeBlock => {
  return { block, globallyReachable: null, name, source, scope };
};

/**
 * The IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, updated by RFC 8190), as of October 2025:
 * https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry. The longest matching
 * prefix counts. The list adds multicast, which has registries of its own, and the terminated block of 6to4 relays.
 *
 * This is the only list of special-purpose blocks. Everything else about them is derived from it.
 */
export const SPECIAL_PURPOSE_BLOCKS: readonly SpecialPurposeBlock[] = [
  no("0.0.0.0/8", "This network", "RFC 791, 3.2", "host"),
  no("0.0.0.0/32", "This host on this network", "RFC 1122, 3.2.1.3", "host"),
  no("10.0.0.0/8", "Private-Use", "RFC 1918", "site"),
  no("100.64.0.0/10", "Shared Address Space", "RFC 6598", "site"),
  no("127.0.0.0/8", "Loopback", "RFC 1122, 3.2.1.3", "host"),
  no("169.254.0.0/16", "Link Local", "RFC 3927", "link"),
  no("172.16.0.0/12", "Private-Use", "RFC 1918", "site"),
  no("192.0.0.0/24", "IETF Protocol Assignments", "RFC 6890, 2.1"),
  no("192.0.0.0/29", "IPv4 Service Continuity Prefix", "RFC 7335"),
  no("192.0.0.8/32", "IPv4 dummy address", "RFC 7600"),
  yes("192.0.0.9/32", "Port Control Protocol Anycast", "RFC 7723"),
  yes("192.0.0.10/32", "Traversal Using Relays around NAT Anycast", "RFC 8155"),
  no("192.0.0.170/32", "NAT64/DNS64 Discovery", "RFC 8880, RFC 7050 2.2"),
  no("192.0.0.171/32", "NAT64/DNS64 Discovery", "RFC 8880, RFC 7050 2.2"),
  no("192.0.2.0/24", "Documentation (TEST-NET-1)", "RFC 5737"),
  yes("192.31.196.0/24", "AS112-v4", "RFC 7535"),
  yes("192.52.193.0/24", "AMT", "RFC 7450"),
  no("192.88.99.2/32", "6a44-relay anycast address", "RFC 6751"),
  no("192.168.0.0/16", "Private-Use", "RFC 1918", "site"),
  yes("192.175.48.0/24", "Direct Delegation AS112 Service", "RFC 7534"),
  no("198.18.0.0/15", "Benchmarking", "RFC 2544"),
  no("198.51.100.0/24", "Documentation (TEST-NET-2)", "RFC 5737"),
  no("203.0.113.0/24", "Documentation (TEST-NET-3)", "RFC 5737"),
  notApplicable("192.88.99.0/24", "6to4 relay anycast (terminated)", "RFC 7526"),
  notApplicable("224.0.0.0/4", "Multicast", "RFC 5771", "group"),
  no("240.0.0.0/4", "Reserved", "RFC 1112, 4", "reserved"),
  no("255.255.255.255/32", "Limited Broadcast", "RFC 8190, RFC 919 7", "reserved"),

  no("::1/128", "Loopback Address", "RFC 4291", "host"),
  no("::/128", "Unspecified Address", "RFC 4291", "host"),
  // ::ffff:0:0/96 (IPv4-mapped, RFC 4291) is parsed as its IPv4 addresses.
  yes("64:ff9b::/96", "IPv4-IPv6 Translation", "RFC 6052", "translation"),
  no("64:ff9b:1::/48", "IPv4-IPv6 Translation", "RFC 8215"),
  no("100::/64", "Discard-Only Address Block", "RFC 6666"),
  no("100:0:0:1::/64", "Dummy IPv6 Prefix", "RFC 9780"),
  no("2001::/23", "IETF Protocol Assignments", "RFC 2928"),
  notApplicable("2001::/32", "TEREDO", "RFC 4380, RFC 8190"),
  yes("2001:1::1/128", "Port Control Protocol Anycast", "RFC 7723"),
  yes("2001:1::2/128", "Traversal Using Relays around NAT Anycast", "RFC 8155"),
  yes("2001:1::3/128", "DNS-SD Service Registration Protocol Anycast", "RFC 9665"),
  no("2001:2::/48", "Benchmarking", "RFC 5180, erratum 1752"),
  yes("2001:3::/32", "AMT", "RFC 7450"),
  yes("2001:4:112::/48", "AS112-v6", "RFC 7535"),
  yes("2001:20::/28", "ORCHIDv2", "RFC 7343"),
  yes("2001:30::/28", "Drone Remote ID Protocol Entity Tags", "RFC 9374"),
  no("2001:db8::/32", "Documentation", "RFC 3849"),
  notApplicable("2002::/16", "6to4", "RFC 3056"),
  yes("2620:4f:8000::/48", "Direct Delegation AS112 Service", "RFC 7534"),
  no("3fff::/20", "Documentation", "RFC 9637"),
  no("5f00::/16", "Segment Routing (SRv6) SIDs", "RFC 9602"),
  no("fc00::/7", "Unique-Local", "RFC 4193, RFC 8190", "site"),
  no("fe80::/10", "Link-Local Unicast", "RFC 4291", "link"),
  notApplicable("ff00::/8", "Multicast", "RFC 4291", "group"),
];

/** The pool of device addresses inside the network. No resource may have one of them. */
export const DEVICE_POOL = "100.64.0.0/10";

export interface PrivateAddressProblem {
  readonly reason: "globally_reachable" | "overlaps_device_pool";
  /** The lowest globally reachable address of the range, or the device pool. */
  readonly conflict: string;
}

interface Interval {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Checks whether an address or block may be PRIVATE. The IANA registries must list every address of it as not globally
 * reachable, and none may be in the device pool.
 *
 * Addresses that the registries do not list count as globally reachable: ordinary unicast, multicast, which gateways do
 * not carry, and unassigned space. So do N/A blocks (6to4, Teredo): what they reach depends on an embedded IPv4
 * address.
 *
 * @returns undefined if the range may be private. If both rules are broken, the problem is reachability
 */
export function privateAddressProblem(range: IpRange): PrivateAddressProblem | undefined {
  const reachable = lowestGloballyReachable(range);
  if (reachable !== undefined) {
    const conflict = formatIpAddress({ version: range.version, bits: reachable });
    return { reason: "globally_reachable", conflict };
  }
  if (rangesOverlap(range, devicePool)) return { reason: "overlaps_device_pool", conflict: DEVICE_POOL };
  return undefined;
}

function lowestGloballyReachable(range: IpRange): bigint | undefined {
  const last = lastAddressOf(range);
  const around = notReachable[range.version].find((interval) => range.first <= interval.last);
  if (around === undefined || range.first < around.first) return range.first;
  return last <= around.last ? undefined : around.last + 1n;
}

/**
 * Returns all addresses that are not globally reachable as ascending intervals with reachable addresses between them.
 */
function notReachableIntervals(version: IpVersion): readonly Interval[] {
  const blocks = SPECIAL_PURPOSE_BLOCKS.map((entry) => ({ ...entry, range: rangeOf(entry.block) }))
    .filter((entry) => entry.range.version === version)
    .sort((a, b) => b.range.prefixLength - a.range.prefixLength);
  // Between two adjacent edges, the same entry applies to every address, or none does.
  const edges = new Set(blocks.flatMap(({ range }) => [range.first, lastAddressOf(range) + 1n]));
  const ascending = [...edges].sort((a, b) => (a < b ? -1 : 1));
  const intervals: Interval[] = [];
  for (const [index, first] of ascending.entries()) {
    const next = ascending[index + 1];
    if (next === undefined) break;
    const address: IpRange = { version, first, prefixLength: addressWidth(version) };
    if (blocks.find(({ range }) => rangeContains(range, address))?.globallyReachable !== false) continue;
    const previous = intervals.at(-1);
    if (previous?.last === first - 1n) intervals[intervals.length - 1] = { first: previous.first, last: next - 1n };
    else intervals.push({ first, last: next - 1n });
  }
  return intervals;
}

function rangeOf(block: string): IpRange {
  const reading = parseIpRange(block);
  if (!reading.ok) throw new RangeError(reading.problem);
  return reading.value;
}

export const devicePool: IpRange = rangeOf(DEVICE_POOL);
const notReachable = { 4: notReachableIntervals(4), 6: notReachableIntervals(6) } as const;

function scopedBlocks(scopes: readonly Scope[]): readonly IpBlock[] {
  const listed = SPECIAL_PURPOSE_BLOCKS.filter(({ scope }) => scope !== undefined && scopes.includes(scope));
  // Agents see addresses as written. Without this block, an IPv4-mapped address would pass as an ordinary IPv6 address.
  const blocks = [...listed.map(({ block }) => block), "::ffff:0:0/96"].flatMap((text) => parseIpBlock(text) ?? []);
  const contains = (outer: IpBlock, { family, first, last, prefixLength }: IpBlock) =>
    outer.family === family && outer.prefixLength < prefixLength && outer.first <= first && last <= outer.last;
  return blocks.filter((block) => !blocks.some((other) => contains(other, block)));
}

/**
 * Blocks in which no site, gateway or server on the internet ever has an address: hosts, links, groups, reserved space.
 */
export const nonRoutableBlocks: readonly IpBlock[] = scopedBlocks(["host", "link", "group", "reserved"]);

/** Blocks of the machine itself and of its links. No other machine reaches an address in them through a router. */
export const hostAndLinkBlocks: readonly IpBlock[] = scopedBlocks(["host", "link"]);

/** Blocks that are never the internet: non-routable blocks, private networks, and embedded IPv4 addresses. */
export const localBlocks: readonly IpBlock[] = scopedBlocks([
  "host",
  "link",
  "group",
  "reserved",
  "site",
  "translation",
]);

/**
 * Ranges that the registries classify as neither globally reachable nor not: multicast, 6to4 and its relays, Teredo.
 */
export const unclassifiedRanges: readonly IpRange[] = SPECIAL_PURPOSE_BLOCKS.filter(
  ({ globallyReachable }) => globallyReachable === null,
).map(({ block }) => rangeOf(block));

/**
 * Whether an IPv6 address has an ISATAP interface identifier (RFC 5214, section 6.1): ::0:5efe:a.b.c.d, or
 * ::200:5efe:a.b.c.d for globally unique IPv4 addresses. A tunnel delivers such packets to the IPv4 address.
 */
export function isIsatap(bits: bigint): boolean {
  const word = (bits >> 32n) & 0xffff_ffffn;
  return word === 0x0000_5efen || word === 0x0200_5efen;
}

/** IPv6 addresses that embed the IPv4 address they translate to (RFC 6052). */
export const translationRange: IpRange = rangeOf("64:ff9b::/96");
