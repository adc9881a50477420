/** What enforcement needs beside the facts that decisions are made from. */

/** A device as gateways meet it. */
export interface DeviceLink {
  readonly deviceId: string;
  /** Its stable addresses in the tunnel, canonical; no other device or gateway of the tenant ever has them. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** Of WireGuard, in base64. */
  readonly publicKey: string;
  /** Where its packets come from, as a gateway or its own link to the control plane told last; null: not known. */
  readonly sourceIp: string | null;
  /** ISO 3166-1 alpha-2, of that address; null: not known. */
  readonly country: string | null;
}

/** A gateway as its peers meet it, and what only its machine's administrator knows. */
export interface GatewayLink {
  readonly gatewayId: string;
  /** Its own addresses in the tunnel. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** Null until its agent has told it. */
  readonly publicKey: string | null;
  readonly listenPort: number;
  /** `host:port`; null: not known. */
  readonly endpoint: string | null;
  readonly relayEnabled: boolean;
  /** The port on which relays take packets for this gateway; null: none does. */
  readonly relayPort: number | null;
  /** Milliseconds since 1970; null: in service. */
  readonly drain: { readonly since: number; readonly until: number } | null;
  readonly dns: {
    readonly resolvers: readonly string[];
    readonly domains: readonly { readonly domain: string; readonly resolvers: readonly string[] }[];
  };
  /** Blocks behind it, for traffic between sites; null: those of the private resources of which it is the first gateway. */
  readonly networks: readonly string[] | null;
}

export interface LinkFacts {
  /** The tenant's blocks of addresses in the tunnel. */
  readonly pools: readonly string[];
  readonly devices: readonly DeviceLink[];
  readonly gateways: readonly GatewayLink[];
}

export type LinkChange =
  | { readonly kind: "device-link"; readonly link: DeviceLink }
  | { readonly kind: "device-link"; readonly gone: string }
  | { readonly kind: "gateway-link"; readonly link: GatewayLink }
  | { readonly kind: "gateway-link"; readonly gone: string };
