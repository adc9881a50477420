/** The interface through which access tests can refuse the effect of a command. */
import type { BrokenAccessTest } from "@gatehouse/contract/records/effect";
import type { AccessDifference } from "@gatehouse/policy/effects/access-difference";
import type { FactChange } from "@gatehouse/policy/model/facts";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import type { Outcome } from "../../../platform/concurrency/fair-queue.ts";
import type { AccessChange } from "../../../platform/tenancy/access-ledger.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

/** The effect of a command, before it is stored. */
export interface EffectToJudge extends AccessChange {
  /** Evaluates in slices. */
  evaluate<Result>(work: Work<Result>): Promise<Result>;
  /** Evaluates work within the limit for work before the commit. The caller can continue work that was stopped. */
  evaluateInTime<Result>(work: Work<Result>): Promise<Outcome<Result>>;
  /** The access gained and lost. Computing it can take seconds. */
  difference(): Promise<AccessDifference>;
  /** The caller's reason for breaking access tests, or undefined. */
  readonly overrideReason: string | undefined;
}

/** The access tests that an effect breaks. They are stored with it. */
export interface JudgedTests {
  readonly broken: readonly BrokenAccessTest[];
  /** Finds further broken tests after the commit, so these tests cannot refuse the command. */
  readonly late?: Work<readonly BrokenAccessTest[]> | undefined;
}

/** @throws AppError if the command is refused */
export type JudgeEffect = (effect: EffectToJudge) => Promise<JudgedTests>;

/** Finds the tests that an effect breaks, long after its command. */
export type FindBrokenTests = (
  before: Model,
  after: Model,
  changes: readonly FactChange[],
) => Work<readonly BrokenAccessTest[]>;

export interface AccessGuard {
  /**
   * Reads, in the command's transaction, the data that the decision needs. It starts all queries at once, so that they
   * share the round trip of the ledger. They must see the writes of this command and of all earlier ones.
   */
  prepare(tx: TenantTx): Promise<JudgeEffect>;

  /**
   * Reads the tests that have not changed since a command. They complete its effect if the replica that performed it
   * stopped before.
   */
  prepareLate(tx: TenantTx, at: Date): Promise<FindBrokenTests>;
}
