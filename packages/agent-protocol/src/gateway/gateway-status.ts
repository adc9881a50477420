import type { GatewayStatus } from "@gatehouse/contract/records/gateway";

/**
 * The condition of a gateway as its agent reports it (API specification, "Status transitions"). A silent gateway
 * retains its previous condition, which returns with the next heartbeat.
 */
export const gatewayConditions = ["pending", "online", "error", "silent", "silent-in-error"] as const;
export type GatewayCondition = (typeof gatewayConditions)[number];

export const gatewayEvents = ["applied", "failed", "heartbeat", "heartbeat-missed"] as const;
export type GatewayEvent = (typeof gatewayEvents)[number];

/** The next condition for every condition and event. A report of the agent also counts as a heartbeat. */
export const conditionAfter: Readonly<Record<GatewayCondition, Readonly<Record<GatewayEvent, GatewayCondition>>>> = {
  // A gateway stays pending until its agent first applies a configuration. A failure shows immediately.
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

/** Derives the status. The condition continues to change during maintenance, and shows again afterwards. */
export function gatewayStatus(condition: GatewayCondition, inMaintenance: boolean): GatewayStatus {
  return inMaintenance ? "MAINTENANCE" : statusOf[condition];
}
