import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { compileSourceIps, peerAddress, sourceIpsContainAddress } from "@gatehouse/addresses/source-ips";

/** Agents are elsewhere: what comes from here is a proxy that nobody said to trust, or helps nobody. */
const ownAddresses = compileSourceIps(["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/127", "fe80::/10"]);

/**
 * Where an agent is, by where its link comes from: where devices find a gateway of which nobody said where it is, and the source address of a device.
 *
 * @param sourceAddress as a socket, or a trusted proxy, reports it
 * @returns the address in canonical form; `""` where it tells nothing
 */
export function discoveredAddress(sourceAddress: string): string {
  const address = peerAddress(sourceAddress);
  if (address === undefined || sourceIpsContainAddress(ownAddresses, address)) return "";
  return formatIpAddress(address);
}
