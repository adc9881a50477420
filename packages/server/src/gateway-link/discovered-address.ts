import { formatIpAddress } from "@gatehouse/policy/addresses/ip-address";
import { compileSourceIps, peerAddress, sourceIpsContainAddress } from "@gatehouse/policy/addresses/source-ips";

/** Devices are elsewhere: to them these are themselves, or nobody. */
const unreachable = compileSourceIps(["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/127", "fe80::/10"]);

/**
 * Where devices find a gateway of which nobody said where it is: where its link comes from.
 *
 * @param sourceAddress as a socket, or a trusted proxy, reports it
 * @returns the address in canonical form; `""` where it helps nobody
 */
export function discoveredAddress(sourceAddress: string): string {
  const address = peerAddress(sourceAddress);
  if (address === undefined || sourceIpsContainAddress(unreachable, address)) return "";
  return formatIpAddress(address);
}
