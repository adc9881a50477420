/** Addresses of devices and gateways in a tenant's tunnels (docs/decisions/0043-tunnel-addresses-and-keys.md). */
import { formatIpAddress } from "@gatehouse/addresses/ip-address";

/** 100.64.0.0 (RFC 6598). */
const ipv4Base = 0x64_40_00_00n;

export interface TunnelAddresses {
  readonly ipv4: string;
  readonly ipv6: string;
}

/**
 * @param prefix sixteen hexadecimal digits: of the tenant's /64
 * @param number what distinguishes the member, 1 to 4,194,302
 */
export function tunnelAddresses(prefix: string, number: number): TunnelAddresses {
  return {
    ipv4: formatIpAddress({ version: 4, bits: ipv4Base + BigInt(number) }),
    ipv6: formatIpAddress({ version: 6, bits: (BigInt(`0x${prefix}`) << 64n) + BigInt(number) }),
  };
}

/** The tenant's blocks, which all its addresses in the tunnel are of. */
export function tunnelPools(prefix: string): readonly string[] {
  return ["100.64.0.0/10", `${formatIpAddress({ version: 6, bits: BigInt(`0x${prefix}`) << 64n })}/64`];
}
