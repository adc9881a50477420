import type { decisionReasons } from "@gatehouse/contract/records/decision";
import type { PolicyMode } from "@gatehouse/contract/records/policy";

/** Why a decision is what it is. */
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
