/** Retention of the audit record: replaces old entries with a signed stub. */

import { accessRecordHash } from "../platform/audit/access-rows.queries.ts";
import {
  baselineThrough,
  lockPruning,
  notePruned,
  oldestSeals,
  replaceByStub,
  tellsMoreThanPruning,
  tenantsAfter,
} from "../platform/audit/checkpoints.queries.ts";
import type { HistoryBaseline } from "../platform/audit/history-baseline.ts";
import { readStub } from "../platform/audit/record.queries.ts";
import type { ChainPosition } from "../platform/audit/signatures.ts";
import type { Clock } from "../platform/clock.ts";
import { type CommandRunner, runCommand } from "../platform/command.ts";
import { TenantRounds } from "../platform/concurrency/tenant-rounds.ts";
import type { OperatorScope } from "../platform/db/scope.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { empty } from "../platform/outcome.ts";
import type { SteadyClock } from "../platform/steady-clock.ts";
import type { CommandTx, TenantTx } from "../platform/tenancy/tenant-tx.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
/** How long the clock must have run without a jump: a clock that is far ahead would prune everything. */
const steadyForMs = 12 * hourMs;
const tenantsAtOnce = 500;
/** The most batches and entries that one transaction prunes. A larger batch is pruned alone. */
const maxBatches = 1_000;
const entriesAtOnce = 5_000;

export interface PruneOptions {
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly steadyClock: SteadyClock;
  readonly log: Log;
  readonly retentionDays: number;
}

/**
 * Prunes entries of all tenants that are older than the retention, in bounded steps. Each step is a command with its
 * own audit entry. The newest batch is never pruned. Safe on every replica. If one record cannot be pruned, the others
 * are still pruned. Nothing is pruned until servers have run for 12 hours without a jump of the clock.
 */
export class RecordPruning {
  readonly #options: PruneOptions;
  readonly #rounds: TenantRounds;

  constructor(options: PruneOptions) {
    this.#options = options;
    const failed = "failed to prune an audit record; will retry";
    this.#rounds = new TenantRounds({ log: options.log, failed, isRare: true });
  }

  /** @throws as `TenantRounds.runPages` */
  async run(): Promise<void> {
    const { runner, steadyClock } = this.#options;
    await steadyClock.observe();
    // The clock can jump while the task waits or runs.
    const isSteady = () => steadyClock.steadyMs >= steadyForMs;
    if (!isSteady()) return;
    const read = (afterTenantId: string) =>
      runner.database.snapshot({ kind: "operator" }, (tx) => tenantsAfter(tx, afterTenantId, tenantsAtOnce));
    await this.#rounds.runPages(read, async (tenantId, waitMs) => {
      while (isSteady() && (await pruneOnce(this.#options, { kind: "operator", tenantId, waitMs })));
    });
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }
}

/** Prunes once. Returns whether there may be more to prune. */
async function pruneOnce(
  { runner, clock, retentionDays }: PruneOptions,
  scope: OperatorScope & { readonly tenantId: string },
): Promise<boolean> {
  const { tenantId } = scope;
  const at = clock.now();
  const keptSince = new Date(at.getTime() - retentionDays * dayMs);
  const due = await runner.database.transaction(scope, ({ query }) => lastOld({ tenantId, query }, keptSince));
  if (due === undefined) return false;
  const origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: "pruneEvents",
    requestId: newId(),
    at,
  } as const;
  let pruned = false;
  await runCommand(runner, { scope, tenantId, origin, idempotency: undefined }, async (tx) => {
    pruned = await prune(tx, runner.audit, keptSince, at);
    return empty();
  });
  return pruned;
}

async function prune(
  tx: CommandTx,
  { keys, guard }: CommandRunner["audit"],
  keptSince: Date,
  at: Date,
): Promise<boolean> {
  // Another replica is pruning.
  if (!(await lockPruning(tx))) return false;
  const place = await lastOld(tx, keptSince);
  if (place === undefined) return false;
  // A stub would cover up that the record was rewritten.
  if ((await guard.contradictionIn(tx, tx.tenantId)) !== undefined) return false;
  const earlier = await readStub(tx);
  const historyThrough = Math.max(place.generation, await baselineThrough(tx));
  const events = await replaceByStub(tx, keys.signer.sign("stub", tx.tenantId, place, at));
  const baseline: HistoryBaseline = { historyThrough, historyHash: await accessRecordHash(tx, historyThrough) };
  await notePruned(tx, place.position);
  tx.record({
    type: "audit-record",
    id: tx.tenantId,
    before: { prunedThrough: earlier?.position ?? 0 },
    after: { prunedThrough: place.position, hash: place.hash, events, keptSince: keptSince.toISOString(), ...baseline },
  });
  return true;
}

/** The end of the oldest batches that can be pruned together: a run from the first, since a chain has no gaps. */
async function lastOld(tx: TenantTx, keptSince: Date): Promise<ChainPosition | undefined> {
  // One more than the limit: the newest batch stays, so that a chain always has a head.
  const seals = await oldestSeals(tx, keptSince, maxBatches + 1);
  const first = seals[0]?.position ?? 0;
  let place: ChainPosition | undefined;
  for (const { old, ...seal } of seals.slice(0, -1)) {
    if (!old || (place !== undefined && seal.position - first > entriesAtOnce)) break;
    place = seal;
  }
  // Otherwise an inactive tenant's record would consist of pruning entries forever.
  return place !== undefined && (await tellsMoreThanPruning(tx, place.position)) ? place : undefined;
}
