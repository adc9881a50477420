import type { GatewayStatus } from "@gatehouse/contract/records/gateway";

/**
 * What is known of a gateway by its agent alone (contract, "Status transitions"). What a gateway was when it fell silent is kept, so that
 * it is the same again when it is heard.
 */
export const gatewayConditions = ["pending", "online", "error", "silent", "silent-in-error"] as const;
export type GatewayCondition = (typeof gatewayConditions)[number];

export const gatewayEvents = ["applied", "failed", "heartbeat", "heartbeat-missed"] as const;
export type GatewayEvent = (typeof gatewayEvents)[number];

/** Every condition after every event. A report of the agent is a sign of life too. */
export const conditionAfter: Readonly<Record<GatewayCondition, Readonly<Record<GatewayEvent, GatewayCondition>>>> = {
  // Until its agent first reports a configuration as applied; one that fails is told at once.
  pending: { applied: "online", failed: "error", heartbeat: "pending", "heartbeat-missed": "pending" },
  online: { applied: "online", failed: "error", heartbeat: "online", "heartbeat-missed": "silent" },
  error: { applied: "online", failed: "error", heartbeat: "error", "heartbeat-missed": "silent-in-error" },
  silent: { applied: "online", failed: "error", heartbeat: "online", "heartbeat-missed": "silent" },
  "silent-in-error": {
    applied: "online",
    failed: "error",
    heartbeat: "error",
    "heartbeat-missed": "silent-in-error",
  },
};

const statusOf: Readonly<Record<GatewayCondition, GatewayStatus>> = {
  pending: "PENDING",
  online: "ONLINE",
  error: "ERROR",
  silent: "OFFLINE",
  "silent-in-error": "OFFLINE",
};

/** The condition goes on underneath maintenance, so that leaving it gives what the heartbeat says. */
export function gatewayStatus(condition: GatewayCondition, inMaintenance: boolean): GatewayStatus {
  return inMaintenance ? "MAINTENANCE" : statusOf[condition];
}
