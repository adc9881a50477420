/** Where what a command does to access may be refused: access tests have their say here. */
import type { BrokenAccessTest } from "@gatehouse/contract/records/effect";
import type { AccessDifference } from "@gatehouse/policy/effects/access-difference";
import type { AccessChange } from "../../../platform/tenancy/access-ledger.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

/** A command's effect, before it is stored. */
export interface EffectToJudge extends AccessChange {
  readonly difference: AccessDifference;
  /** Why the caller would have access tests broken; undefined where they would not. */
  readonly overrideReason: string | undefined;
}

/**
 * @returns the access tests that the effect breaks, which are stored with it
 * @throws AppError where the command may not go through
 */
export type JudgeEffect = (effect: EffectToJudge) => Promise<readonly BrokenAccessTest[]>;

export interface AccessGuard {
  /**
   * Asks, in the command's transaction, for what it takes to judge: all at once, as it travels with the ledger's own
   * questions. What this command and all before it wrote is to be seen.
   */
  prepare(tx: TenantTx): Promise<JudgeEffect>;
}
