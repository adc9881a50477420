import { type IpAddress, type IpVersion, parseIpAddress } from "./ip-address.ts";
import { type IpRange, lastAddressOf, parseIpRange } from "./ip-ranges.ts";

/** A compiled list of addresses and CIDR blocks. A lookup is one parse and one binary search. */
export interface SourceIps {
  readonly v4: Intervals;
  readonly v6: Intervals;
}

/** Disjoint closed intervals in ascending order, `firsts[i]` to `lasts[i]`. */
interface Intervals {
  readonly firsts: readonly bigint[];
  readonly lasts: readonly bigint[];
}

/**
 * Compiles the source addresses of an API key or a policy. An empty list contains no address. The caller decides that
 * an absent list means any address.
 *
 * @param list addresses and CIDR blocks, as `parseIpRange` accepts them
 * @throws RangeError for any other text. Texts are validated before they are stored, and skipping one could grant
 *   access.
 */
export function compileSourceIps(list: readonly string[]): SourceIps {
  const ranges = list.map((text) => {
    const reading = parseIpRange(text);
    if (!reading.ok) throw new RangeError(reading.problem);
    return reading.value;
  });
  return { v4: mergedIntervals(ranges, 4), v6: mergedIntervals(ranges, 6) };
}

/**
 * Whether a peer's address is in the list.
 *
 * @param ip the address as a socket reports it: see `peerAddress`. A text that is not an address is in no list
 */
export function sourceIpsContain(sourceIps: SourceIps, ip: string): boolean {
  const address = peerAddress(ip);
  return address !== undefined && sourceIpsContainAddress(sourceIps, address);
}

/** Whether an address is in the list. */
export function sourceIpsContainAddress(sourceIps: SourceIps, address: IpAddress): boolean {
  const { firsts, lasts } = address.version === 4 ? sourceIps.v4 : sourceIps.v6;
  const candidate = countNotAbove(firsts, address.bits) - 1;
  const last = lasts[candidate];
  return last !== undefined && address.bits <= last;
}

/**
 * Parses an address as a socket reports it. An IPv4-mapped address becomes its IPv4 address. A zone identifier is
 * ignored.
 *
 * @returns undefined if the text is not an address
 */
export function peerAddress(ip: string): IpAddress | undefined {
  const zone = ip.indexOf("%");
  return parseIpAddress(zone < 0 ? ip : ip.slice(0, zone));
}

function mergedIntervals(ranges: readonly IpRange[], version: IpVersion): Intervals {
  const ascending = ranges
    .filter((range) => range.version === version)
    .map((range) => ({ first: range.first, last: lastAddressOf(range) }))
    .sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0));
  const firsts: bigint[] = [];
  const lasts: bigint[] = [];
  for (const { first, last } of ascending) {
    const previous = lasts.at(-1);
    if (previous === undefined || first > previous) {
      firsts.push(first);
      lasts.push(last);
    } else if (last > previous) {
      lasts[lasts.length - 1] = last;
    }
  }
  return { firsts, lasts };
}

/** Returns how many of the ascending values are at most the given one. */
function countNotAbove(ascending: readonly bigint[], value: bigint): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    // The index is in bounds: low ≤ middle < high ≤ length.
    if ((ascending[middle] as bigint) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
