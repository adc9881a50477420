/** Which addresses Gatehouse itself may send requests to, on behalf of a tenant that names the URL. */
import { isIP } from "node:net";
import { addressWidth, parseIpAddress } from "@gatehouse/addresses/ip-address";
import { type IpRange, parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import { isReachableUnicast } from "@gatehouse/addresses/reachable-unicast";

/** Networks that requests may go to besides the internet, and without TLS: those that configuration names. */
export type AllowedNetworks = readonly IpRange[];

/** @param texts addresses and CIDRs, checked before */
export function allowedNetworks(texts: readonly string[]): AllowedNetworks {
  return texts.map((text) => {
    const reading = parseIpRange(text);
    if (!reading.ok) throw new RangeError(reading.problem);
    return reading.value;
  });
}

/**
 * @param address IPv4 or IPv6 text, as a resolver or a parsed URL writes it
 * @param secure whether the request is encrypted and the receiver proves its name; what is not stays in allowed networks
 */
export function mayConnect(address: string, secure: boolean, networks: AllowedNetworks): boolean {
  // A zone says on which link an address is; such addresses are of a link.
  const parsed = parseIpAddress(address);
  if (parsed === undefined) return false;
  const { version, bits } = parsed;
  const range: IpRange = { version, first: bits, prefixLength: addressWidth(version) };
  return networks.some((network) => rangeContains(network, range)) || (secure && isReachableUnicast(parsed));
}

/** The IP address that a URL names in place of a host name, whatever its spelling was; undefined for a name. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  // As Node decides whether it asks a resolver.
  return isIP(host) === 0 ? undefined : host;
}
