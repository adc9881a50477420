import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";

export const exampleGateways = {
  one: "0199aaaa-0000-7000-8000-00000000000b",
  two: "0199aaaa-0000-7000-8000-00000000000c",
} as const;

/** Two gateways: the first carries a network and a name, the second a wildcard. */
export function exampleDeviceConfiguration(): DeviceConfiguration {
  return {
    device: "0199aaaa-0000-7000-8000-00000000000d",
    ipv4: "100.64.0.1",
    ipv6: "fd64::1",
    gateways: [
      {
        gateway: exampleGateways.one,
        publicKey: `${"A".repeat(43)}=`,
        addresses: ["100.64.255.1", "fd64::ff:1"],
        endpoint: "192.0.2.1:51820",
        relays: [],
        allowedIps: ["10.80.0.0/24", "fd80::/64"],
        names: ["git.internal.example.com"],
      },
      {
        gateway: exampleGateways.two,
        publicKey: `${"B".repeat(42)}A=`,
        addresses: ["100.64.255.2", "fd64::ff:2"],
        endpoint: "gateway-2.example.com:51820",
        relays: ["192.0.2.1:40001"],
        allowedIps: ["10.81.0.7/32"],
        names: ["*.internal.example.com"],
      },
    ],
  };
}

/** The example without its first gateway, which carried a network and a name. */
export function exampleOutage(): DeviceConfiguration {
  const { gateways, ...rest } = exampleDeviceConfiguration();
  const [{ allowedIps: addresses, names } = { allowedIps: [], names: [] }, ...others] = gateways;
  return { ...rest, gateways: others, unserved: { addresses, names } };
}
