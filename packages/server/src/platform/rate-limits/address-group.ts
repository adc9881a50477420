import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { peerAddress } from "@gatehouse/addresses/source-ips";

const hostBits = 64n;

/** The address for counting: for IPv6 its /64, the smallest block that is assigned to a customer. */
export function addressGroup(text: string): string {
  const address = peerAddress(text);
  // A closed connection has no address, and a proxy can report anything.
  if (address === undefined) return "unknown";
  const { version, bits } = address;
  return formatIpAddress(version === 4 ? address : { version, bits: (bits >> hostBits) << hostBits });
}
