/** Effects that are computed after the commit, because they are too expensive to compute before it. */
import type { EffectSummary } from "@gatehouse/contract/records/effect";
import { comparingAccess } from "@gatehouse/policy/effects/compare-access";
import type { Work } from "@gatehouse/policy/work";
import type { BackgroundTask } from "../../../platform/background-task.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { readHistoryAt, readHistoryOf } from "../history/history.queries.ts";
import { changesOfHistory, factsOfHistory } from "../history/history.ts";
import { type PendingEffect, readPendingEffects, storeLateEffect } from "../history/late-effects.queries.ts";
import { CachedModel } from "../models/cached-model.ts";
import { effectSummary } from "./effect-summary.ts";

/** Another replica completes an effect after this time, in milliseconds. */
const abandonedAfterMs = 5 * 60_000;

/** Effects that this replica completes in one run. */
const effectsInARun = 20;

export interface LateEffectsOptions {
  readonly database: Database;
  readonly evaluator: Evaluator;
  readonly clock: Clock;
  /** Receives the error of an effect that could not be completed. Another run repeats it. */
  readonly failed: (error: unknown) => void;
}

export class LateEffects {
  readonly #options: LateEffectsOptions;
  /** Effects that this replica computes. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: LateEffectsOptions) {
    this.#options = options;
  }

  get task(): BackgroundTask {
    return { name: "late-effects", intervalMs: 60_000, run: () => this.completeAbandoned() };
  }

  /** Continues the computation of a committed command's effect. */
  complete(tenantId: string, generation: number, work: Work<EffectSummary>): void {
    const key = `${tenantId} ${generation}`;
    const running = this.#complete(tenantId, generation, work)
      .catch(this.#options.failed)
      .finally(() => this.#running.delete(key));
    this.#running.set(key, running);
  }

  /** Waits for the effects that this replica computes. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Completes effects whose replica stopped before they were complete. */
  async completeAbandoned(olderThanMs = abandonedAfterMs): Promise<void> {
    const { database, clock } = this.#options;
    const before = new Date(clock.now().getTime() - olderThanMs);
    const pending = await database.snapshot({ kind: "operator" }, (tx) =>
      readPendingEffects(tx, before, effectsInARun),
    );
    for (const effect of pending) {
      if (!this.#running.has(`${effect.tenantId} ${effect.generation}`)) await this.#completeFromHistory(effect);
    }
  }

  async #completeFromHistory({ tenantId, generation }: PendingEffect): Promise<void> {
    const [past, versions] = await this.#read(tenantId, (tx) =>
      Promise.all([readHistoryAt(tx, generation - 1), readHistoryOf(tx, generation)]),
    );
    const before = CachedModel.of(generation - 1, factsOfHistory(past));
    const changes = changesOfHistory(versions);
    const after = before.with(generation, changes);
    await this.#complete(
      tenantId,
      generation,
      (function* (): Work<EffectSummary> {
        const difference = yield* comparingAccess(before.model, after.model, changes, {});
        return yield* effectSummary(difference, before.model, after.model, []);
      })(),
    );
  }

  async #complete(tenantId: string, generation: number, work: Work<EffectSummary>): Promise<void> {
    const { database, evaluator, clock } = this.#options;
    const summary = await evaluator.decide(tenantId, work);
    await database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
      await storeLateEffect({ tenantId, query }, generation, clock.now(), summary);
    });
  }

  #read<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#options.database.snapshot({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }
}
