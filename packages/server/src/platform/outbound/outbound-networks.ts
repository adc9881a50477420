/** The addresses to which Gatehouse can send requests for URLs that a tenant configured. */
import { isIP } from "node:net";
import { isClosedTarget } from "@gatehouse/addresses/closed-targets";
import { addressWidth, parseIpAddress } from "@gatehouse/addresses/ip-address";
import { type IpRange, parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import { isReachableUnicast } from "@gatehouse/addresses/reachable-unicast";

/** Networks outside the internet that requests can go to, even without TLS, as configured. */
export type AllowedNetworks = readonly IpRange[];

/** @param texts validated addresses and CIDRs */
export function allowedNetworks(texts: readonly string[]): AllowedNetworks {
  return texts.map((text) => {
    const reading = parseIpRange(text);
    if (!reading.ok) throw new RangeError(reading.problem);
    return reading.value;
  });
}

/**
 * @param address IPv4 or IPv6 address as written by a resolver or a parsed URL
 * @param secure whether the request is encrypted and the receiver authenticated; other requests stay in allowed
 *   networks
 */
export function mayConnect(address: string, secure: boolean, networks: AllowedNetworks): boolean {
  // Addresses with a zone are link-local.
  const parsed = parseIpAddress(address);
  if (parsed === undefined) return false;
  const { version, bits } = parsed;
  const range: IpRange = { version, first: bits, prefixLength: addressWidth(version) };
  if (networks.some((network) => rangeContains(network, range))) return true;
  // Azure's metadata service has a globally reachable address.
  return secure && isReachableUnicast(parsed) && !isClosedTarget(address);
}

/** The IP address in the URL's host, in any spelling; undefined for a host name. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  // The same check with which Node decides whether to resolve a name.
  return isIP(host) === 0 ? undefined : host;
}
