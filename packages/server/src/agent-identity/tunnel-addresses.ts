/** The tunnel addresses of devices and gateways (docs/decisions/0043-tunnel-addresses-and-keys.md). */
import { formatIpAddress } from "@gatehouse/addresses/ip-address";
import { DEVICE_POOL, devicePool } from "@gatehouse/addresses/special-purpose";

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
    ipv4: formatIpAddress({ version: 4, bits: devicePool.first + BigInt(number) }),
    ipv6: formatIpAddress({ version: 6, bits: (BigInt(`0x${prefix}`) << 64n) + BigInt(number) }),
  };
}

/** The blocks that all tunnel addresses of the tenant belong to. */
export function tunnelPools(prefix: string): readonly string[] {
  return [DEVICE_POOL, `${formatIpAddress({ version: 6, bits: BigInt(`0x${prefix}`) << 64n })}/64`];
}
