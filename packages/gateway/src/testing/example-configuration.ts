import type { SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";

export const exampleResource = "0199aaaa-0000-7000-8000-000000000001";

/** One device that may reach one address and one wildcard. The signature is none. */
export function exampleConfiguration(): SignedConfiguration {
  const services = [{ protocol: "TCP" as const, ports: [443, 443] as const, resource: exampleResource }];
  return {
    envelope: {
      header: {
        format: 1,
        tenant: "0199aaaa-0000-7000-8000-00000000000a",
        gateway: "0199aaaa-0000-7000-8000-00000000000b",
        generation: 1,
        issuedAt: 1_000,
        expiresAt: 90_000_000,
        root: "0".repeat(64),
      },
      signature: `${"A".repeat(86)}==`,
    },
    content: {
      settings: {
        interface: {
          listenPort: 51820,
          ipv4: "100.64.255.1",
          ipv6: "fd64::ff:1",
          pools: ["100.64.0.0/10", "fd64::/64"],
        },
        dns: { resolvers: ["192.0.2.53"], domains: [] },
      },
      peers: { "100.64.0.1": { kind: "device", publicKey: `${"A".repeat(43)}=`, ipv6: "fd64::1" } },
      classes: { staff: { "100.64.0.1": true } },
      resources: { [exampleResource]: { devices: [{ action: "allow", classes: ["staff"] }], sites: [] } },
      destinations: {
        "10.80.0.0/24": { services, otherwise: "drop" },
        "*.internal.example.com": { services, otherwise: "drop" },
      },
    },
  };
}
