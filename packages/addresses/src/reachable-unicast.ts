import { addressWidth, type IpAddress } from "./ip-address.ts";
import { type IpRange, parseIpRange, rangeContains } from "./ip-ranges.ts";
import { isIsatap, privateAddressProblem, translationRange, unclassifiedRanges } from "./special-purpose.ts";

/**
 * Whether an address certainly belongs to a single machine on the internet.
 *
 * This is stricter than the registries' "globally reachable". Addresses that the registries do not list may be
 * multicast or unassigned, so IPv6 addresses must be inside 2000::/3, the one block of global unicast (RFC 4291). 6to4,
 * Teredo and ISATAP addresses never qualify, because their destination depends on an embedded IPv4 address. Hosts
 * without IPv4 reach it through 64:ff9b::/96 (RFC 6052). There, the embedded IPv4 address decides.
 */
export function isReachableUnicast(address: IpAddress): boolean {
  const { version, bits } = address;
  const range: IpRange = { version, first: bits, prefixLength: addressWidth(version) };
  if (rangeContains(translationRange, range)) return isReachableUnicast({ version: 4, bits: bits & 0xffff_ffffn });
  if (version === 6 && (!rangeContains(globalUnicast, range) || isIsatap(bits))) return false;
  if (unclassifiedRanges.some((block) => rangeContains(block, range))) return false;
  return privateAddressProblem(range)?.reason === "globally_reachable";
}

const globalUnicast: IpRange = rangeOf("2000::/3");

function rangeOf(block: string): IpRange {
  const reading = parseIpRange(block);
  if (!reading.ok) throw new RangeError(reading.problem);
  return reading.value;
}
