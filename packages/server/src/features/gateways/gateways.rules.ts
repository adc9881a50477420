import { parseAddressText } from "@gatehouse/addresses/address-text";
import { type GatewayCondition, gatewayStatus } from "@gatehouse/agent-protocol/gateway/gateway-status";
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import type { GatewayStatus, GatewayTest } from "@gatehouse/contract/records/gateway";

export type EndpointCheck =
  | {
      readonly ok: true;
      /** The endpoint in canonical form; `""` if devices discover the endpoint by themselves. */
      readonly endpoint: string;
    }
  | { readonly ok: false; readonly message: string };

/** Checks the endpoint for devices: empty, a host name or an IP address. The port is a separate field. */
export function checkEndpoint(text: string): EndpointCheck {
  if (text === "") return { ok: true, endpoint: "" };
  if (/^(\[.*\]|[^:]+):\d+$/.test(text)) {
    return { ok: false, message: "has a port; give the address alone, and the port in wireguardPort" };
  }
  const reading = parseAddressText(text);
  if (!reading.ok) return { ok: false, message: reading.problem };
  const { kind, text: endpoint } = reading.value;
  if (kind === "cidr") return { ok: false, message: `${endpoint} is a block of addresses; write one address of it` };
  if (kind === "wildcard") return { ok: false, message: `${endpoint} matches many names; write one host name` };
  return { ok: true, endpoint };
}

/**
 * The time after the last heartbeat for which a gateway counts as reachable, in milliseconds (contract, "Status
 * transitions").
 */
const reachableForMs = heartbeatTimeoutMs;

/** The reports of a gateway's agent. */
export interface Heartbeat {
  /** ISO 8601; null before the first heartbeat. */
  readonly last_online: string | null;
  /** ISO 8601: when a configuration was first applied; null before that. */
  readonly deployed_on: string | null;
  /** The reason why the last configuration was not applied; `""` if it was applied or none was received. */
  readonly error: string;
}

/**
 * The next status of a gateway. Only commands end maintenance; every other status follows from reports.
 *
 * @param now the shared time, as used for heartbeats
 */
export function nextStatus(gateway: Heartbeat & { readonly status: GatewayStatus }, now: Date): GatewayStatus {
  return gatewayStatus(conditionOf(gateway, now), gateway.status === "MAINTENANCE");
}

/** The status of a gateway outside of maintenance. @param now the shared time */
export function statusByHeartbeat(heartbeat: Heartbeat, now: Date): GatewayStatus {
  return gatewayStatus(conditionOf(heartbeat, now), false);
}

/**
 * The gateway's row in the contract's table of conditions. An unreachable gateway takes precedence over ERROR, because
 * its last report may be outdated.
 */
export function conditionOf(heartbeat: Heartbeat, now: Date): GatewayCondition {
  const reachable = isReachable(heartbeat, now);
  if (heartbeat.error !== "") return reachable ? "error" : "silent-in-error";
  if (heartbeat.deployed_on === null) return "pending";
  return reachable ? "online" : "silent";
}

/**
 * A heartbeat in the future counts as current, because the shared clock may have been ahead. The check for silent
 * gateways resets it to the current time.
 */
function isReachable({ last_online: lastOnline }: Heartbeat, now: Date): boolean {
  return lastOnline !== null && now.getTime() - Date.parse(lastOnline) <= reachableForMs;
}

/** The result of testing a gateway, derived from its heartbeat. @param now the shared time */
export function testedState(gateway: Heartbeat & { readonly status: GatewayStatus }, now: Date): GatewayTest {
  const { last_online: lastOnline, deployed_on: deployedOn, error } = gateway;
  const heard = lastOnline === null ? "It has sent no heartbeat yet." : `Its last heartbeat was at ${lastOnline}.`;
  const failed = error === "" ? {} : { error };
  if (gateway.status === "MAINTENANCE") {
    return { status: "MAINTENANCE", details: `An administrator took it out of service. ${heard}`, ...failed };
  }
  if (lastOnline !== null && !isReachable(gateway, now)) {
    return { status: "NOT_REACHABLE", details: heard, ...failed };
  }
  const status = statusByHeartbeat(gateway, now);
  if (status === "ERROR") return { status, details: heard, error };
  if (status === "ONLINE") {
    return { status, details: `${heard} A configuration was first applied at ${deployedOn}.` };
  }
  if (status === "OFFLINE") return { status: "NOT_REACHABLE", details: heard, ...failed };
  return { status: "UNRECOGNIZED", details: `${heard} It has not reported a configuration as applied.`, ...failed };
}
