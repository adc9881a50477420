/** Effects that are computed after the commit, because they are too expensive to compute before the commit. */
import type { EffectSummary } from "@gatehouse/contract/records/effect";
import { comparingAccess } from "@gatehouse/policy/effects/compare-access";
import type { Work } from "@gatehouse/policy/work";
import { isTemporary } from "../../../platform/background-failures.ts";
import type { BackgroundTask } from "../../../platform/background-task.ts";
import type { Clock } from "../../../platform/clock.ts";
import { type CommandRunner, runCommand } from "../../../platform/command.ts";
import { TenantRounds } from "../../../platform/concurrency/tenant-rounds.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { TenantScope } from "../../../platform/db/scope.ts";
import type { Evaluator } from "../../../platform/evaluation/evaluator.ts";
import { groupBy } from "../../../platform/group-by.ts";
import { newId } from "../../../platform/ids.ts";
import type { Log } from "../../../platform/log.ts";
import { empty } from "../../../platform/outcome.ts";
import { lockGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { readHistoryAt, readHistoryOf } from "../history/history.queries.ts";
import { changesOfHistory } from "../history/history.ts";
import { type PendingEffect, readPendingEffects, storeLateEffect } from "../history/late-effects.queries.ts";
import { CachedModel } from "../models/cached-model.ts";
import type { AccessGuard } from "./access-guard.ts";
import { effectSummary } from "./effect-summary.ts";

/** Another replica completes an effect after this time, in milliseconds. */
const abandonedAfterMs = 5 * 60_000;

/** The operation of the system's entry about a computed effect. Its seal covers the effect. */
const lateEffectOperation = "computeAccessEffect";

/** The message of a failure. Another run repeats the computation. */
const failed = "failed to compute the access impact of a command; will retry";

/**
 * Abandoned effects that this replica completes concurrently. Each loads past facts of a tenant. Slow effects share one
 * slot with those of tenants that failed often.
 */
const completedAtOnce = { slots: 1, slowSlots: 1 };

/** Effects that this replica completes in one run. */
const effectsInARun = 20;
/** Effects of tenants that failed, in one run. They must not displace other tenants. */
const effectsOfFailingTenants = 4;

/**
 * The maximum number of a tenant's effects that this replica computes in the background. Further effects share the
 * tenant's time equally with its commands. This slows down the commands, so that the backlog grows more slowly.
 */
const mostInBackground = 20;

/**
 * The maximum number of a tenant's effects that this replica retains, each with two models. Further effects are
 * computed from the history, like abandoned ones.
 */
const mostRetained = 100;

export interface LateEffectsOptions {
  /** Stores effects; the runner is created after this object. */
  readonly runner: () => CommandRunner;
  readonly database: Database;
  readonly evaluator: Evaluator;
  readonly clock: Clock;
  readonly guard: AccessGuard;
  readonly log: Log;
}

export class LateEffects {
  readonly #options: LateEffectsOptions;
  /** Effects that this replica computes, by tenant and generation. */
  readonly #running = new Map<string, Map<number, Promise<void>>>();
  readonly #rounds: TenantRounds;

  constructor(options: LateEffectsOptions) {
    this.#options = options;
    this.#rounds = new TenantRounds({ log: options.log, failed, ...completedAtOnce });
  }

  get task(): BackgroundTask {
    return {
      name: "late-effects",
      intervalMs: 60_000,
      run: () => this.completeAbandoned(),
      stop: () => this.#rounds.stop(),
    };
  }

  /** Continues the computation of a committed command's effect, unless too many effects of the tenant are pending. */
  complete(tenantId: string, generation: number, work: Work<EffectSummary>): void {
    const running = this.#running.get(tenantId) ?? new Map<number, Promise<void>>();
    if (running.size >= mostRetained) return;
    this.#running.set(tenantId, running);
    const { evaluator } = this.#options;
    const summary =
      running.size < mostInBackground ? evaluator.decideLate(tenantId, work) : evaluator.decide(tenantId, work);
    const completing = this.#store({ kind: "tenant", tenantId }, generation, summary)
      .catch((error: unknown) => this.#options.log.warn({ err: error, tenantId }, failed))
      .finally(() => {
        running.delete(generation);
        if (running.size === 0) this.#running.delete(tenantId);
      });
    running.set(generation, completing);
  }

  /** Waits for the effects that this replica computes. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].flatMap((running) => [...running.values()]));
  }

  /** Completes effects whose replica stopped, or had too many pending effects of the tenant. */
  async completeAbandoned(olderThanMs = abandonedAfterMs): Promise<void> {
    const { database, clock } = this.#options;
    const createdBefore = new Date(clock.now().getTime() - olderThanMs);
    const { unavailable, failing } = this.#rounds;
    const retried = failing.filter((tenantId) => !unavailable.includes(tenantId));
    const pending = await database.snapshot({ kind: "operator" }, (tx) =>
      Promise.all([
        readPendingEffects(tx, createdBefore, { except: [...unavailable, ...retried] }, effectsInARun),
        readPendingEffects(tx, createdBefore, { only: retried }, effectsOfFailingTenants),
      ]),
    );
    const byTenant = groupBy(pending.flat(), ({ tenantId }) => tenantId);
    await this.#rounds.run(byTenant.keys(), (tenantId, waitMs) =>
      this.#completeSome({ kind: "tenant", tenantId, waitMs }, byTenant.get(tenantId) ?? []),
    );
  }

  /** @throws the first error, after the other effects */
  async #completeSome(scope: TenantScope, effects: readonly PendingEffect[]): Promise<void> {
    let failure: unknown;
    for (const effect of effects) {
      if (this.#running.get(scope.tenantId)?.has(effect.generation) === true) continue;
      try {
        await this.#completeFromHistory(scope, effect);
      } catch (error) {
        if (isTemporary(error)) throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async #completeFromHistory(scope: TenantScope, { generation, since }: PendingEffect): Promise<void> {
    const { tenantId } = scope;
    const [past, versions, findBroken] = await this.#read(tenantId, (tx) =>
      Promise.all([
        readHistoryAt(tx, generation - 1),
        readHistoryOf(tx, generation),
        this.#options.guard.prepareLate(tx, new Date(since)),
      ]),
    );
    const summary = this.#options.evaluator.decideLate(
      tenantId,
      (function* (): Work<EffectSummary> {
        const before = yield* CachedModel.buildingPast(generation - 1, past);
        const changes = yield* changesOfHistory(versions);
        const after = yield* before.changing(generation, changes);
        const difference = yield* comparingAccess(before.model, after.model, changes, {});
        const broken = yield* findBroken(before.model, after.model, changes);
        return yield* effectSummary(difference, before.model, after.model, broken);
      })(),
    );
    await this.#store(scope, generation, summary);
  }

  async #store(scope: TenantScope, generation: number, computing: Promise<EffectSummary>): Promise<void> {
    const { runner, clock } = this.#options;
    const { tenantId } = scope;
    const summary = await computing;
    const at = clock.now();
    const origin = {
      actor: { type: "system", name: "Gatehouse" },
      operation: lateEffectOperation,
      requestId: newId(),
      at,
    } as const;
    const command = { scope, tenantId, origin, idempotency: undefined, storesLateEffect: true };
    await runCommand(runner(), command, async (tx) => {
      const sealedIn = (await lockGeneration(tx)) + 1;
      // Another replica may have completed the effect, or its command may have been pruned.
      if (await storeLateEffect(tx, { generation, at, summary, sealedIn })) {
        tx.record({ type: "audit-record", id: tenantId, after: { effectOfGeneration: generation } });
      }
      return empty();
    });
  }

  #read<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    // Reading the history of a large tenant is slow but takes no locks, so it must not occupy a background slot.
    return this.#options.database.readThrough({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }
}
