/** The addresses of clients: of the connection, or as trusted proxies report them in X-Forwarded-For. */
import { formatIpAddress, type IpAddress } from "@gatehouse/addresses/ip-address";
import { compileSourceIps, peerAddress, sourceIpsContainAddress } from "@gatehouse/addresses/source-ips";
import type { FastifyRequest } from "fastify";

/** Longer texts are no addresses: 45 characters, a zone, brackets and a port. */
const longestText = 80;

/**
 * The address of the client in canonical form, so that audit record, limits and source restrictions see one spelling.
 *
 * @returns "unknown" if the connection is closed, or if a proxy reports something else
 */
export function clientAddress(request: Pick<FastifyRequest, "ip">): string {
  const address = reportedAddress(request.ip);
  return address === undefined ? "unknown" : formatIpAddress(address);
}

/**
 * Returns the check of whether an address in the chain of X-Forwarded-For is a proxy, whose report is trusted.
 *
 * @param trustedProxies addresses and CIDR blocks
 */
export function trustedProxyCheck(trustedProxies: readonly string[]): (text: string | undefined) => boolean {
  const trusted = compileSourceIps(trustedProxies);
  return (text) => {
    const address = reportedAddress(text);
    return address !== undefined && sourceIpsContainAddress(trusted, address);
  };
}

/** Parses an address of a connection or of a proxy. Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711. */
function reportedAddress(text: string | undefined): IpAddress | undefined {
  // A closed connection has no address.
  if (text === undefined || text.length > longestText) return undefined;
  const [, v4, v6] = /^(?:([\d.]+):\d{1,5}|\[([^\]]*)\](?::\d{1,5})?)$/.exec(text) ?? [];
  return peerAddress(v4 ?? v6 ?? text);
}
