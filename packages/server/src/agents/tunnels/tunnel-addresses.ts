/** The tunnel addresses of devices and gateways (docs/decisions/0043-tunnel-addresses-and-keys.md). */
import { formatIpAddress } from "@gatehouse/addresses/ip-address";

/** 100.64.0.0 (RFC 6598). */
const ipv4Base = 0x64_40_00_00n;

export interface TunnelAddresses {
  readonly ipv4: string;
  readonly ipv6: string;
}

/**
 * @param prefix the tenant's /64, as sixteen hexadecimal digits
 * @param number the number of the device or gateway in its tenant, 1 to 4,194,302
 */
export function tunnelAddresses(prefix: string, number: number): TunnelAddresses {
  return {
    ipv4: formatIpAddress({ version: 4, bits: ipv4Base + BigInt(number) }),
    ipv6: formatIpAddress({ version: 6, bits: (BigInt(`0x${prefix}`) << 64n) + BigInt(number) }),
  };
}

/** The blocks that all tunnel addresses of the tenant belong to. */
export function tunnelPools(prefix: string): readonly string[] {
  return ["100.64.0.0/10", `${formatIpAddress({ version: 6, bits: BigInt(`0x${prefix}`) << 64n })}/64`];
}
