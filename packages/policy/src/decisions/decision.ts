import type { PolicyMode } from "@gatehouse/contract/records/policy";

/** Why a decision is what it is. Stable: clients compare them. */
export const decisionReasons = [
  /** A policy allows it. */
  "allowed_by_policy",
  /** Allowed, but none of the gateways that may carry it can be reached now. */
  "no_reachable_gateway",
  /** A policy denies it. */
  "denied_by_policy",
  /** An INTERNET policy in mode RESTRICTED blocks it. */
  "restricted_by_policy",
  /** No policy that applies has its admission rule met. */
  "no_policy_allows",
  "unknown_user",
  "user_inactive",
  "user_pending",
  "unknown_device",
  "device_without_user",
  "device_of_another_user",
  "device_inactive",
  "unknown_gateway",
  "unknown_resource",
  /** The destination is neither an IP address nor a host name. */
  "invalid_address",
  /** Traffic that enters at a site, for an address that no resource has. */
  "no_resource",
  /** The address belongs to a resource, but is not offered on the asked protocol and port. */
  "protocol_not_offered",
] as const;
export type DecisionReason = (typeof decisionReasons)[number];

/** What names a record to people. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

export interface Decision {
  readonly allowed: boolean;
  /** Why: the first is the reason, others add to it. */
  readonly reasons: readonly [DecisionReason, ...DecisionReason[]];
  /** The policy that decided. */
  readonly policy?: Named;
  /** The resource that the destination stands for. */
  readonly resource?: Named;
  /** What happens to the traffic: set exactly where a policy of type INTERNET decided to allow or to restrict. */
  readonly mode?: PolicyMode;
  /** Ids of the gateways that may carry the traffic now, in the order to try them. */
  readonly gateways: readonly string[];
  /** Milliseconds since 1970: before this moment time alone changes nothing. Absent: time never does. */
  readonly validUntil?: number;
}
