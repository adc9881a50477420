import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { isWithin } from "@gatehouse/addresses/ip-block";
import { peerAddress } from "@gatehouse/addresses/source-ips";
import { hostAndLinkBlocks } from "@gatehouse/addresses/special-purpose";

/**
 * The address of an agent as its connection shows it: the endpoint of a gateway without a configured one, or the source
 * address of a device.
 *
 * @param sourceAddress as reported by the socket or by a trusted proxy
 * @returns the address in canonical form; `""` if it is not known
 */
export function discoveredAddress(sourceAddress: string): string {
  const address = peerAddress(sourceAddress);
  if (address === undefined) return "";
  const text = formatIpAddress(address);
  // A connection from such an address came through a proxy that is not trusted.
  return isWithin(text, hostAndLinkBlocks) ? "" : text;
}
