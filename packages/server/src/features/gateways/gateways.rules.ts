import { parseAddressText } from "@gatehouse/addresses/address-text";
import { type GatewayCondition, gatewayStatus } from "@gatehouse/agent-protocol/gateway/gateway-status";
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import type { GatewayStatus, GatewayTest } from "@gatehouse/contract/records/gateway";

export type EndpointCheck =
  | {
      readonly ok: true;
      /** In canonical form; `""` where devices discover the endpoint by themselves. */
      readonly endpoint: string;
    }
  | { readonly ok: false; readonly message: string };

/** Checks where devices connect to: nothing, a host name or an IP address. The port is a field of its own. */
export function checkEndpoint(text: string): EndpointCheck {
  if (text === "") return { ok: true, endpoint: "" };
  if (/^(\[.*\]|[^:]+):\d+$/.test(text)) {
    return { ok: false, message: "has a port; write the address alone, the port goes into wireguardPort" };
  }
  const reading = parseAddressText(text);
  if (!reading.ok) return { ok: false, message: reading.problem };
  const { kind, text: endpoint } = reading.value;
  if (kind === "cidr") return { ok: false, message: `${endpoint} is a block of addresses; write one address of it` };
  if (kind === "wildcard") return { ok: false, message: `${endpoint} is many names; write one host name` };
  return { ok: true, endpoint };
}

/** How long after its last heartbeat a gateway counts as reachable, in milliseconds (contract, "Status transitions"). */
const reachableForMs = heartbeatTimeoutMs;

/** What a gateway's agent has reported. */
export interface Heartbeat {
  /** ISO 8601; null before the first heartbeat. */
  readonly last_online: string | null;
  /** ISO 8601, when a configuration was first applied; null before that. */
  readonly deployed_on: string | null;
  /** Why the last configuration could not be applied; `""` when it could, or when none was tried. */
  readonly error: string;
}

/** What the status becomes of a gateway that has one: maintenance ends by command alone, everything else follows from reports. */
export function nextStatus(gateway: Heartbeat & { readonly status: GatewayStatus }, now: Date): GatewayStatus {
  return gatewayStatus(conditionOf(gateway, now), gateway.status === "MAINTENANCE");
}

/** What a gateway's status is outside of maintenance. */
export function statusByHeartbeat(heartbeat: Heartbeat, now: Date): GatewayStatus {
  return gatewayStatus(conditionOf(heartbeat, now), false);
}

/**
 * Where a gateway stands in the contract's table of conditions, from what is stored of its reports. Whoever is silent is not trusted
 * with an older report: silence comes before ERROR.
 */
export function conditionOf(heartbeat: Heartbeat, now: Date): GatewayCondition {
  const reachable = isReachable(heartbeat, now);
  if (heartbeat.error !== "") return reachable ? "error" : "silent-in-error";
  if (heartbeat.deployed_on === null) return "pending";
  return reachable ? "online" : "silent";
}

/** A gateway whose clock, or whose replica's, is ahead counts as heard just now. */
function isReachable({ last_online: lastOnline }: Heartbeat, now: Date): boolean {
  return lastOnline !== null && now.getTime() - Date.parse(lastOnline) <= reachableForMs;
}

/** What is known of a gateway's state: concluded from its heartbeat, never guessed. */
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
