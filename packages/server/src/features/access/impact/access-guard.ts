/** The interface through which access tests can refuse the effect of a command. */
import type { BrokenAccessTest } from "@gatehouse/contract/records/effect";
import type { AccessDifference } from "@gatehouse/policy/effects/access-difference";
import type { Work } from "@gatehouse/policy/work";
import type { AccessChange } from "../../../platform/tenancy/access-ledger.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

/** The effect of a command, before it is stored. */
export interface EffectToJudge extends AccessChange {
  /** Evaluates in slices. */
  evaluate<Result>(work: Work<Result>): Promise<Result>;
  /** The access gained and lost. Computing it can take seconds. */
  difference(): Promise<AccessDifference>;
  /** The caller's reason for breaking access tests, or undefined. */
  readonly overrideReason: string | undefined;
}

/**
 * @returns the access tests that the effect breaks, which are stored with it
 *
 * @throws AppError if the command is refused
 */
export type JudgeEffect = (effect: EffectToJudge) => Promise<readonly BrokenAccessTest[]>;

export interface AccessGuard {
  /**
   * Reads, in the command's transaction, the data that the decision needs. It starts all queries at once, so that they
   * share the round trip of the ledger. They must see the writes of this command and of all earlier ones.
   */
  prepare(tx: TenantTx): Promise<JudgeEffect>;
}
