import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { compileSourceIps, peerAddress, sourceIpsContainAddress } from "@gatehouse/addresses/source-ips";

/** Addresses that no remote agent has. A connection from one of them came through a proxy that is not trusted. */
const ownAddresses = compileSourceIps(["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/127", "fe80::/10"]);

/**
 * The address of an agent as its connection shows it: the endpoint of a gateway without a configured one, or the source
 * address of a device.
 *
 * @param sourceAddress as reported by the socket or by a trusted proxy
 * @returns the address in canonical form; `""` if it is not known
 */
export function discoveredAddress(sourceAddress: string): string {
  const address = peerAddress(sourceAddress);
  if (address === undefined || sourceIpsContainAddress(ownAddresses, address)) return "";
  return formatIpAddress(address);
}
