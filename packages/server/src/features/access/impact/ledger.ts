/** Records the facts that each command leaves, and who gains and loses access by it. */

import type { BrokenAccessTest, EffectSummary } from "@gatehouse/contract/records/effect";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { AccessDifference } from "@gatehouse/policy/effects/access-difference";
import { comparingAccess } from "@gatehouse/policy/effects/compare-access";
import { haveSameFacts } from "@gatehouse/policy/effects/same-facts";
import type { FactChange, FactsByKind } from "@gatehouse/policy/model/facts";
import { entryCost, recordCost, recordsAtOnce, type Work } from "@gatehouse/policy/work";
import type { Change } from "../../../platform/change.ts";
import type { Clock } from "../../../platform/clock.ts";
import { allSettled } from "../../../platform/concurrency/all-settled.ts";
import type { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import type {
  AccessChange,
  AccessImpact,
  AccessLedger,
  EvaluatedImpact,
  EvaluateImpact,
} from "../../../platform/tenancy/access-ledger.ts";
import { lockGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { countEffectsAfter, readHistoryAfter, storeEarlyVersions, storeEffect } from "../history/history.queries.ts";
import { changesOfHistory, versionsOf } from "../history/history.ts";
import { storePendingEffect } from "../history/late-effects.queries.ts";
import { type CachedModel, kindOfRows } from "../models/cached-model.ts";
import {
  type FactRows,
  type NamedFacts,
  type PolicyPosition,
  readAllFacts,
  readNamedFacts,
  readPolicyOrder,
} from "../models/facts.queries.ts";
import { factsFinder, listing, listingFacts } from "../models/model-facts.ts";
import type { ModelStore } from "../models/model-store.ts";
import { namedByChanges } from "../models/named-facts.ts";
import type { AccessGuard, JudgedTests, JudgeEffect } from "./access-guard.ts";
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
    const base = await this.#options.models.current(tenantId);
    return {
      evaluate: async (tx, changes, overrideReason) => (await this.#begin(tx, base, changes))(overrideReason),
      begin: (tx, changes) => this.#begin(tx, base, changes),
      preview: (tx, changes) => preview(tx, base, changes),
    };
  }

  /**
   * Starts all queries at once, after the lock. They see everything that was committed before, and no other command can
   * commit before this one.
   */
  async #begin(tx: TenantTx, base: CachedModel, recorded: readonly Change[]): Promise<EvaluateImpact> {
    const { guard } = this.#options;
    const [previewed, written, judge] = await Promise.all([
      preview(tx, base, recorded),
      countEffectsAfter(tx, base.generation),
      guard.prepare(tx),
    ]);
    const at = this.#options.clock.now();
    return (overrideReason) => this.#evaluate(tx, { base, previewed, written, judge, at, overrideReason });
  }

  async #evaluate(
    tx: TenantTx,
    { base, previewed, written, judge, at, overrideReason }: BegunEvaluation,
  ): Promise<EvaluatedImpact> {
    const { models, evaluator, lateEffects } = this.#options;
    const { tenantId } = tx;
    const { unitsBeforeCommit } = evaluator;
    const evaluate = <Result>(work: Work<Result>) => evaluateWithin(tx, evaluator, work);
    const { before, after, changes } = await evaluate(previewed);
    const { generation } = before;
    const compare = async () => {
      const comparison = new Comparison(comparingAccess(before.model, after.model, changes, anyCircumstances));
      await evaluator.decideUpTo(tenantId, comparison.work(), unitsBeforeCommit);
      const { broken, late } = await judge({
        before,
        after,
        changes,
        overrideReason,
        evaluate,
        evaluateInTime: (work) => evaluator.decideUpTo(tenantId, work, unitsBeforeCommit),
        difference: () => evaluate(comparison.work()),
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
    const summary = "result" in summarized ? summarized.result : pendingSummary(broken);
    return {
      async write(writing) {
        await Promise.all([
          storeEffect(writing, { generation: generation + 1, at, summary, versions }),
          "stopped" in summarized ? storePendingEffect(writing, generation + 1, at) : undefined,
        ]);
      },
      committed: () => {
        if ("stopped" in summarized) lateEffects.complete(tenantId, generation + 1, summarizing);
        // Generations without an effect may have changed facts that are not in the history, such as the state of a
        // gateway.
        if (written === generation - base.generation) models.take(tx.tenantId, after);
      },
    };
  }
}

/** The results of the queries of an evaluation. */
interface BegunEvaluation {
  readonly base: CachedModel;
  readonly previewed: Work<ModelChange>;
  /** The number of effects that were stored after the base. */
  readonly written: number;
  readonly judge: JudgeEffect;
  /** When the generation was locked. */
  readonly at: Date;
  readonly overrideReason: string | undefined;
}

/** A comparison whose work can be stopped and continued by different callers. */
class Comparison {
  readonly #work: Work<AccessDifference>;
  #difference: AccessDifference | undefined;

  constructor(work: Work<AccessDifference>) {
    this.#work = work;
  }

  get isOver(): boolean {
    return this.#difference !== undefined;
  }

  /** Continues the comparison. The work of an earlier caller must have been stopped. */
  *work(): Work<AccessDifference> {
    while (this.#difference === undefined) {
      const step = this.#work.next();
      if (step.done === true) this.#difference = step.value;
      else yield step.value;
    }
    return this.#difference;
  }
}

function* summaryOf(
  comparison: Comparison,
  before: CachedModel,
  after: CachedModel,
  broken: readonly BrokenAccessTest[],
  late: JudgedTests["late"],
): Work<EffectSummary> {
  const all = late === undefined ? broken : [...broken, ...(yield* late)];
  return yield* effectSummary(yield* comparison.work(), before.model, after.model, all);
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

interface ModelChange extends AccessChange {
  readonly before: CachedModel;
  readonly after: CachedModel;
}

/**
 * Locks first: the queries after the lock see everything that was committed before.
 *
 * @returns computes the models, as work that can be suspended between some records
 */
async function preview(tx: TenantTx, base: CachedModel, recorded: readonly Change[]): Promise<Work<ModelChange>> {
  const [generation, past, left] = await Promise.all([
    lockGeneration(tx),
    readHistoryAfter(tx, base.generation),
    readLeft(tx, recorded),
  ]);
  return (function* (): Work<ModelChange> {
    const before =
      generation === base.generation ? base : yield* base.changing(generation, yield* changesOfHistory(past));
    const changes = yield* left(before);
    return { before, after: yield* before.changing(generation + 1, changes), changes };
  })();
}

/** Compares the facts that a command left with the previous facts. */
type ComparingFacts = (before: CachedModel) => Work<readonly FactChange[]>;

/** Starts the queries for the facts that a command left. */
async function readLeft(tx: TenantTx, recorded: readonly Change[]): Promise<ComparingFacts> {
  const named = namedByChanges(recorded);
  if (named === undefined) {
    const { facts } = await readAllFacts(tx);
    return (before) => differencesToAll(before, facts);
  }
  const { reordered, regrouped, ...ids } = named;
  const [facts, positions] = await Promise.all([readNamedFacts(tx, ids, regrouped), readPolicyOrder(tx, reordered)]);
  return function* (before) {
    return yield* withOrders(before, yield* differences(before, facts, ids), positions);
  };
}

/** The differences of the records that a command named. */
function* differences(before: CachedModel, facts: FactRows, ids: NamedFacts): Work<readonly FactChange[]> {
  const find = factsFinder(before.model);
  const gone: FactChange[] = [];
  const changed: FactChange[] = [];
  let unpaid = 0;
  for (const [rows, kind] of Object.entries(kindOfRows) as [keyof FactRows, keyof FactsByKind][]) {
    const present = new Set<string>();
    for (const row of facts[rows]) {
      present.add(row.id);
      if (!haveSameFacts(row, find(kind, row.id))) changed.push({ kind, facts: row } as FactChange); // rows of a kind are its facts
      unpaid += recordCost;
      if (unpaid < recordsAtOnce * recordCost) continue;
      yield unpaid;
      unpaid = 0;
    }
    for (const id of ids[rows]) {
      if (!present.has(id) && find(kind, id) !== undefined) gone.push({ kind, gone: id });
      unpaid += 2 * entryCost;
      if (unpaid < recordsAtOnce * recordCost) continue;
      yield unpaid;
      unpaid = 0;
    }
  }
  return [...gone, ...changed];
}

/** The differences of all records. */
function* differencesToAll(before: CachedModel, facts: FactRows): Work<readonly FactChange[]> {
  const former = yield* listingFacts(before.model);
  const idsOf = (records: readonly { readonly id: string }[]) => listing(records, ({ id }) => id);
  const ids: NamedFacts = {
    users: yield* idsOf(former.users),
    groups: yield* idsOf(former.groups),
    devices: yield* idsOf(former.devices),
    gateways: yield* idsOf(former.gateways),
    resources: yield* idsOf(former.resources),
    rules: yield* idsOf(former.rules),
    policies: yield* idsOf(former.policies),
  };
  return yield* withOrders(before, yield* differences(before, facts, ids), facts.policies);
}

/** Stores the order of a type if new policies are not at the end, or if there is more than one. */
function* withOrders(
  before: CachedModel,
  changes: readonly FactChange[],
  positions: readonly PolicyPosition[],
): Work<readonly FactChange[]> {
  const ordered = yield* before.ordering(changes, positions);
  const find = factsFinder(before.model);
  const newOfType = new Map<PolicyType, number>();
  for (const change of changes) {
    if (change.kind !== "policy" || "gone" in change || find("policy", change.facts.id) !== undefined) continue;
    newOfType.set(change.facts.type, (newOfType.get(change.facts.type) ?? 0) + 1);
  }
  const orders = [...newOfType].flatMap(([type, count]): FactChange[] => {
    const isStored = ordered.some((change) => change.kind === "policy-order" && change.type === type);
    if (count < 2 || isStored) return [];
    return [
      { kind: "policy-order", type, ids: positions.filter((position) => position.type === type).map(({ id }) => id) },
    ];
  });
  return [...ordered, ...orders];
}
