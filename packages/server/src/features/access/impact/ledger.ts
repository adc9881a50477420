/** Records the facts that each command leaves, and who gains and loses access by it. */

import type { BrokenAccessTest, EffectSummary } from "@gatehouse/contract/records/effect";
import type { AccessDifference } from "@gatehouse/policy/effects/access-difference";
import { comparingAccess } from "@gatehouse/policy/effects/compare-access";
import { SharedWork, type Work } from "@gatehouse/policy/work";
import type { Change } from "../../../platform/change.ts";
import type { Clock } from "../../../platform/clock.ts";
import { allSettled } from "../../../platform/concurrency/all-settled.ts";
import type { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import type {
  AccessImpact,
  AccessLedger,
  EvaluatedImpact,
  EvaluateImpact,
} from "../../../platform/tenancy/access-ledger.ts";
import { lockGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { storeEarlyVersions } from "../history/history.queries.ts";
import { versionsOf } from "../history/history.ts";
import type { CachedModel } from "../models/cached-model.ts";
import type { ModelStore } from "../models/model-store.ts";
import type { AccessGuard, JudgedTests, JudgeEffect } from "./access-guard.ts";
import { type ModelChange, modelChange, preview, readChanges } from "./command-changes.ts";
import { effectSummary } from "./effect-summary.ts";
import type { LateEffects } from "./late-effects.ts";

/** The effect of a command must not depend on the time at which it ran. */
const anyCircumstances = {};

export interface LedgerOptions {
  readonly models: ModelStore;
  readonly clock: Clock;
  readonly guard: AccessGuard;
  readonly evaluator: Evaluator;
  readonly lateEffects: LateEffects;
}

/** The units after which a transaction is used, so that PostgreSQL does not end it as idle. */
const unitsBetweenQueries = 50_000_000;

export class Ledger implements AccessLedger {
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  async open(tenantId: string): Promise<AccessImpact> {
    const base = await this.#options.models.recent(tenantId);
    return {
      evaluate: async (tx, changes, overrideReason) => {
        const [evaluate] = await this.#begin(tx, base, [changes]);
        return (evaluate as EvaluateImpact)(overrideReason); // one for each command
      },
      begin: (tx, commands) => this.#begin(tx, base, commands),
      preview: (tx, changes) => preview(tx, base, changes),
    };
  }

  /**
   * Starts all queries at once, after the lock. They see everything that was committed before, and no other command can
   * commit before these. The history is read afterwards if another command has committed since the latest model.
   */
  async #begin(
    tx: TenantTx,
    base: CachedModel,
    commands: readonly (readonly Change[])[],
  ): Promise<readonly EvaluateImpact[]> {
    const { models, guard, evaluator, clock } = this.#options;
    const latestModel = () => {
      const cached = models.cached(tx.tenantId);
      return cached !== undefined && cached.generation >= base.generation ? cached : base;
    };
    const [{ former, isFormerWhole, left }, judge] = await Promise.all([
      readChanges(tx, latestModel, commands),
      guard.prepare(tx),
    ]);
    const at = clock.now();
    // The model before the first command, then after each command that was evaluated.
    let latest: CachedModel | undefined;
    return left.map((comparing) => async (overrideReason) => {
      latest ??= await evaluateWithin(tx, evaluator, former);
      const change = await evaluateWithin(tx, evaluator, modelChange(latest, comparing));
      latest = change.after;
      return this.#evaluate(tx, { change, isFormerWhole, judge, at, overrideReason });
    });
  }

  async #evaluate(
    tx: TenantTx,
    { change, isFormerWhole, judge, at, overrideReason }: BegunEvaluation,
  ): Promise<EvaluatedImpact> {
    const { models, evaluator, lateEffects } = this.#options;
    const { tenantId } = tx;
    const { unitsBeforeCommit } = evaluator;
    const evaluate = <Result>(work: Work<Result>) => evaluateWithin(tx, evaluator, work);
    const { before, after, changes } = change;
    const { generation } = before;
    const compare = async () => {
      const comparison = new SharedWork(comparingAccess(before.model, after.model, changes, anyCircumstances));
      await evaluator.decideUpTo(tenantId, comparison.finishing(), unitsBeforeCommit);
      const { broken, late } = await judge({
        before,
        after,
        changes,
        overrideReason,
        evaluate,
        evaluateInTime: (work) => evaluator.decideUpTo(tenantId, work, unitsBeforeCommit),
        difference: () => evaluate(comparison.finishing()),
      });
      const summarizing = summaryOf(comparison, before, after, broken, late);
      const isInTime = comparison.isOver && late === undefined;
      const summarized = isInTime
        ? await evaluator.decideUpTo(tenantId, summarizing, unitsBeforeCommit)
        : ({ stopped: true } as const);
      return { broken, summarizing, summarized };
    };
    // All but the last versions are stored now: the statements at the end are sent without a pause.
    const [versions, { broken, summarizing, summarized }] = await allSettled([
      storeEarlyVersions(tx, generation + 1, versionsOf(changes), evaluate),
      compare(),
    ]);
    const isLate = "stopped" in summarized;
    return {
      effect: {
        generation: generation + 1,
        at,
        summary: isLate ? pendingSummary(broken) : summarized.result,
        versions: versions.last,
        hasEarlierVersions: versions.areMore,
        isLate,
      },
      committed: () => {
        if (isLate) lateEffects.complete(tenantId, generation + 1, summarizing);
        if (isFormerWhole) models.take(tx.tenantId, after);
      },
    };
  }
}

/** The change of a command, and the results of the queries for its evaluation. */
interface BegunEvaluation {
  readonly change: ModelChange;
  /** Whether the models contain all facts, and not only those of the history. */
  readonly isFormerWhole: boolean;
  readonly judge: JudgeEffect;
  /** When the generation was locked. */
  readonly at: Date;
  readonly overrideReason: string | undefined;
}

function* summaryOf(
  comparison: SharedWork<AccessDifference>,
  before: CachedModel,
  after: CachedModel,
  broken: readonly BrokenAccessTest[],
  late: JudgedTests["late"],
): Work<EffectSummary> {
  const all = late === undefined ? broken : [...broken, ...(yield* late)];
  return yield* effectSummary(yield* comparison.finishing(), before.model, after.model, all);
}

const noCounts: EffectSummary["gained"] = { users: 0, devices: 0, sites: 0, resources: 0, internet: false, pairs: 0 };

function pendingSummary(brokenTests: readonly BrokenAccessTest[]): EffectSummary {
  return { gained: noCounts, lost: noCounts, groupCount: 0, groups: [], brokenTests: [...brokenTests] };
}

/** Evaluates during a transaction. */
async function evaluateWithin<Result>(tx: TenantTx, evaluator: Evaluator, work: Work<Result>): Promise<Result> {
  for (;;) {
    const outcome = await evaluator.decideUpTo(tx.tenantId, work, unitsBetweenQueries);
    if ("result" in outcome) return outcome.result;
    await lockGeneration(tx);
  }
}
