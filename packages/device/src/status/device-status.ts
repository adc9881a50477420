/** The state of the agent, as `gatehouse device status` shows it. */
import type { GatewayState } from "../device-agent.ts";

/** The most blocks and names that a status lists. */
export const mostListed = 1_000;

/** Times are in ISO 8601. */
export interface DeviceStatus {
  readonly device: { readonly id: string; readonly name: string };
  /** The device's user. */
  readonly user: string;
  readonly controlPlane: { readonly url: string; readonly connected: boolean };
  readonly session: SessionStatus;
  /** Absent: the agent uses no configuration. */
  readonly configuration?: { readonly issuedAt: string; readonly expiresAt: string };
  readonly gateways: readonly GatewayStatus[];
  readonly reachable: ReachableStatus;
  /**
   * Address blocks and names that are allowed, but that no gateway in service carries. At most 1,000 of each. Absent:
   * there are none.
   */
  readonly unserved?: { readonly addresses: readonly string[]; readonly names: readonly string[] };
  readonly lastError?: { readonly at: string; readonly text: string };
}

/** `unknown`: the agent has no configuration. `unlimited`: no session limits the device. */
export interface SessionStatus {
  readonly state: "active" | "ends-soon" | "ended" | "unlimited" | "unknown";
  readonly endsAt?: string;
}

export interface GatewayStatus {
  readonly id: string;
  readonly path: "direct" | "relay" | "none";
  /** The endpoint or relay in use. */
  readonly address?: string;
  readonly lastHandshake?: string;
  /** Through the tunnel; absent: the gateway does not answer. */
  readonly roundTripTimeMs?: number;
}

export interface ReachableStatus {
  /** Address blocks and names that go through gateways. At most 1,000 of each. */
  readonly addresses: readonly string[];
  readonly names: readonly string[];
  /** Whether all other traffic goes through a gateway too. */
  readonly internet: boolean;
}

export function gatewayStatus(
  { gateway: id, path: address, isRelay, lastHandshake }: GatewayState,
  roundTripTimeMs: number | undefined,
): GatewayStatus {
  return {
    id,
    path: address === undefined ? "none" : isRelay ? "relay" : "direct",
    ...(address === undefined ? {} : { address }),
    ...(lastHandshake === undefined ? {} : { lastHandshake: new Date(lastHandshake).toISOString() }),
    ...(roundTripTimeMs === undefined ? {} : { roundTripTimeMs }),
  };
}
