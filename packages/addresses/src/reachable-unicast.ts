import { addressWidth, type IpAddress } from "./ip-address.ts";
import { type IpRange, parseIpRange, rangeContains } from "./ip-ranges.ts";
import { privateAddressProblem } from "./special-purpose.ts";

/**
 * Whether an address is one of a single machine somewhere on the internet, and surely of no other kind.
 *
 * Stricter than the registries' "globally reachable": what they do not list may be multicast or unassigned, so IPv6 counts
 * only inside 2000::/3 (the one block of global unicast, RFC 4291 and IANA's IPv6 address space registry); 6to4 and Teredo
 * never count, since what they reach depends on an IPv4 address inside. That of 64:ff9b::/96 (RFC 6052), by which hosts
 * without IPv4 reach it, is judged itself.
 */
export function isReachableUnicast(address: IpAddress): boolean {
  const { version, bits } = address;
  const range: IpRange = { version, first: bits, prefixLength: addressWidth(version) };
  if (rangeContains(translated, range)) return isReachableUnicast({ version: 4, bits: bits & 0xffff_ffffn });
  if (version === 6 && !rangeContains(globalUnicast, range)) return false;
  if (excluded.some((block) => rangeContains(block, range))) return false;
  return privateAddressProblem(range)?.reason === "globally_reachable";
}

function rangeOf(block: string): IpRange {
  const reading = parseIpRange(block);
  if (!reading.ok) throw new RangeError(reading.problem);
  return reading.value;
}

const globalUnicast = rangeOf("2000::/3");
const translated = rangeOf("64:ff9b::/96");
/** Multicast (RFC 5771), 6to4 and its relays (RFC 3056, RFC 7526), Teredo (RFC 4380). */
const excluded = ["224.0.0.0/4", "192.88.99.0/24", "2002::/16", "2001::/32"].map(rangeOf);
