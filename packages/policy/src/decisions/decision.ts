import type { decisionReasons } from "@gatehouse/contract/records/decision";
import type { PolicyMode } from "@gatehouse/contract/records/policy";

/** The reason for a decision. */
export type DecisionReason = (typeof decisionReasons)[number];

/** The id and the name of a record. */
export interface Named {
  readonly id: string;
  readonly name: string;
}

export interface Decision {
  readonly allowed: boolean;
  /** The first reason decides. Further reasons add detail. */
  readonly reasons: readonly [DecisionReason, ...DecisionReason[]];
  /** The policy that decided. */
  readonly policy?: Named;
  /** The resource to which the destination resolves. */
  readonly resource?: Named;
  /** The treatment of the traffic. Set if and only if an INTERNET policy allowed or restricted the request. */
  readonly mode?: PolicyMode;
  /** Ids of the gateways that can carry the traffic now, in the order to try them. */
  readonly gateways: readonly string[];
  /**
   * Milliseconds since 1970. The decision cannot change before this time unless facts change. Absent if time has no
   * influence.
   */
  readonly validUntil?: number;
}
