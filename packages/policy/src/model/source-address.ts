import type { IpAddress } from "@gatehouse/addresses/ip-address";
import { peerAddress } from "@gatehouse/addresses/source-ips";

/**
 * Parses the source address of a request. The unspecified address stands for a device whose address a gateway hides
 * (docs/decisions/0265-addresses-of-relays.md).
 *
 * @returns undefined if the address is unknown or invalid
 */
export function knownSource(text: string | null | undefined): IpAddress | undefined {
  const address = text === null || text === undefined ? undefined : peerAddress(text);
  return address?.bits === 0n ? undefined : address;
}
