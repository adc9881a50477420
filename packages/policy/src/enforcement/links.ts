import type { DeviceSources } from "./device-sources.ts";

/** Inputs of enforcement apart from the facts for decisions. */

/** A device as a peer of gateways. */
export interface DeviceLink {
  readonly deviceId: string;
  /**
   * The device's addresses in the tunnel, in canonical form. They never change, and no other device or gateway of the
   * tenant ever gets them.
   */
  readonly ipv4: string;
  readonly ipv6: string;
  /** The WireGuard public key, in base64. */
  readonly publicKey: string;
  /** The source addresses of the device's packets. */
  readonly sources: DeviceSources;
  /** The country of the device: ISO 3166-1 alpha-2. Null if unknown. */
  readonly country: string | null;
}

/** A gateway as a peer, with the settings of its machine. */
export interface GatewayLink {
  readonly gatewayId: string;
  /** The gateway's own addresses in the tunnel. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** Null until the agent reports it. */
  readonly publicKey: string | null;
  readonly listenPort: number;
  /** `host:port`. Null if unknown. */
  readonly endpoint: string | null;
  readonly relayEnabled: boolean;
  /** The port on which relays accept packets for this gateway. Null if no relay does. */
  readonly relayPort: number | null;
  /** Milliseconds since 1970. Null if the gateway is not draining. */
  readonly drain: { readonly since: number; readonly until: number } | null;
  readonly dns: {
    readonly resolvers: readonly string[];
    readonly domains: readonly { readonly domain: string; readonly resolvers: readonly string[] }[];
  };
  /**
   * Blocks behind the gateway, for traffic between sites. Null to use the private resources whose first gateway it is.
   */
  readonly networks: readonly string[] | null;
}

export interface LinkFacts {
  /** The tenant's address blocks in the tunnel. */
  readonly pools: readonly string[];
  readonly devices: readonly DeviceLink[];
  readonly gateways: readonly GatewayLink[];
}

export type LinkChange =
  | { readonly kind: "device-link"; readonly link: DeviceLink }
  | { readonly kind: "device-link"; readonly gone: string }
  | { readonly kind: "gateway-link"; readonly link: GatewayLink }
  | { readonly kind: "gateway-link"; readonly gone: string };
