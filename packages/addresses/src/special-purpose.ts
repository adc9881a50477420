import { addressWidth, formatIpAddress, type IpVersion } from "./ip-address.ts";
import { type IpRange, lastAddressOf, parseIpRange, rangeContains, rangesOverlap } from "./ip-ranges.ts";

interface SpecialPurposeBlock {
  readonly block: string;
  /** The registry's "Globally Reachable"; null where it says N/A. */
  readonly globallyReachable: boolean | null;
  readonly name: string;
  readonly source: string;
}

const no = (block: string, name: string, source: string): SpecialPurposeBlock => {
  return { block, globallyReachable: false, name, source };
};
const yes = (block: string, name: string, source: string): SpecialPurposeBlock => {
  return { block, globallyReachable: true, name, source };
};
const notApplicable = (block: string, name: string, source: string): SpecialPurposeBlock => {
  return { block, globallyReachable: null, name, source };
};

/**
 * The IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, updated by RFC 8190), as of October 2025:
 * https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry. Where blocks nest, the
 * longest prefix speaks. Entries that the registries have terminated (192.88.99.0/24, 2001:10::/28) are left out.
 */
export const SPECIAL_PURPOSE_BLOCKS: readonly SpecialPurposeBlock[] = [
  no("0.0.0.0/8", "This network", "RFC 791, 3.2"),
  no("0.0.0.0/32", "This host on this network", "RFC 1122, 3.2.1.3"),
  no("10.0.0.0/8", "Private-Use", "RFC 1918"),
  no("100.64.0.0/10", "Shared Address Space", "RFC 6598"),
  no("127.0.0.0/8", "Loopback", "RFC 1122, 3.2.1.3"),
  no("169.254.0.0/16", "Link Local", "RFC 3927"),
  no("172.16.0.0/12", "Private-Use", "RFC 1918"),
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
  no("192.168.0.0/16", "Private-Use", "RFC 1918"),
  yes("192.175.48.0/24", "Direct Delegation AS112 Service", "RFC 7534"),
  no("198.18.0.0/15", "Benchmarking", "RFC 2544"),
  no("198.51.100.0/24", "Documentation (TEST-NET-2)", "RFC 5737"),
  no("203.0.113.0/24", "Documentation (TEST-NET-3)", "RFC 5737"),
  no("240.0.0.0/4", "Reserved", "RFC 1112, 4"),
  no("255.255.255.255/32", "Limited Broadcast", "RFC 8190, RFC 919 7"),

  no("::1/128", "Loopback Address", "RFC 4291"),
  no("::/128", "Unspecified Address", "RFC 4291"),
  // ::ffff:0:0/96 (IPv4-mapped, RFC 4291) is not here: such an address is read as the IPv4 address it stands for.
  yes("64:ff9b::/96", "IPv4-IPv6 Translation", "RFC 6052"),
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
  no("fc00::/7", "Unique-Local", "RFC 4193, RFC 8190"),
  no("fe80::/10", "Link-Local Unicast", "RFC 4291"),
];

/** The addresses that devices get inside the network; no resource may take one. */
export const DEVICE_POOL = "100.64.0.0/10";

export interface PrivateAddressProblem {
  readonly reason: "globally_reachable" | "overlaps_device_pool";
  /** What to show: the lowest globally reachable address of the range, or the device pool. */
  readonly conflict: string;
}

interface Interval {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Whether an address or block may be a PRIVATE one: every address of it must be one that the IANA registries say is not
 * globally reachable, and none may be of the device pool.
 *
 * Whatever the registries do not list counts as globally reachable: ordinary unicast, and also multicast (which has
 * registries of its own, and which gateways do not carry) and unassigned space. So does N/A (6to4, Teredo), because
 * what is reached there depends on an IPv4 address inside.
 *
 * @returns undefined when it may be private; reachability is named first when both rules are broken
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

/** Everything that is not globally reachable, as intervals that are ascending and have a reachable address between. */
function notReachableIntervals(version: IpVersion): readonly Interval[] {
  const blocks = SPECIAL_PURPOSE_BLOCKS.map((entry) => ({ ...entry, range: rangeOf(entry.block) }))
    .filter((entry) => entry.range.version === version)
    .sort((a, b) => b.range.prefixLength - a.range.prefixLength);
  // Between two neighbouring edges one and the same entry, or none, speaks for all addresses.
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

const devicePool = rangeOf(DEVICE_POOL);
const notReachable = { 4: notReachableIntervals(4), 6: notReachableIntervals(6) } as const;
