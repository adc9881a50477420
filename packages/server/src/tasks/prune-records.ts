/** Retention of the audit record: old entries go, and a signed stub stays in their place. */
import {
  lockPruning,
  notePruned,
  oldestSeals,
  replaceByStub,
  tellsMoreThanPruning,
  tenantsAfter,
} from "../platform/audit/checkpoints.queries.ts";
import { readStub } from "../platform/audit/record.queries.ts";
import type { AuditSigner, ChainPlace } from "../platform/audit/signatures.ts";
import type { Clock } from "../platform/clock.ts";
import { type CommandRunner, runCommand } from "../platform/command.ts";
import { newId } from "../platform/ids.ts";
import { empty } from "../platform/outcome.ts";
import type { CommandTx, TenantTx } from "../platform/tenancy/tenant-tx.ts";

const dayMs = 24 * 60 * 60_000;
const tenantsAtOnce = 500;
const nilUuid = "00000000-0000-0000-0000-000000000000";
/** Batches, and entries, that one transaction prunes at most; a larger batch goes by itself. */
const batchesAtOnce = 1_000;
const entriesAtOnce = 5_000;

export interface PruneOptions {
  readonly runner: CommandRunner;
  readonly signer: AuditSigner;
  readonly clock: Clock;
  readonly retentionDays: number;
}

/**
 * Prunes what is older than the retention, of every tenant, in bounded pieces, each of them a command that leaves an entry.
 * Safe on every replica. The newest batch always stays.
 */
export async function pruneRecords(options: PruneOptions): Promise<void> {
  const { database } = options.runner;
  let after = nilUuid;
  for (;;) {
    const from = after;
    const tenants = await database.snapshot({ kind: "operator" }, (tx) => tenantsAfter(tx, from, tenantsAtOnce));
    for (const tenantId of tenants) {
      while (await pruneOnce(options, tenantId));
    }
    const last = tenants.at(-1);
    if (last === undefined) return;
    after = last;
  }
}

/** @returns whether there may be more */
async function pruneOnce({ runner, signer, clock, retentionDays }: PruneOptions, tenantId: string): Promise<boolean> {
  const at = clock.now();
  const keptSince = new Date(at.getTime() - retentionDays * dayMs);
  const scope = { kind: "operator", tenantId } as const;
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
    pruned = await prune(tx, signer, keptSince, at);
    return empty();
  });
  return pruned;
}

async function prune(tx: CommandTx, signer: AuditSigner, keptSince: Date, at: Date): Promise<boolean> {
  // Another replica is at it.
  if (!(await lockPruning(tx))) return false;
  const place = await lastOld(tx, keptSince);
  if (place === undefined) return false;
  const earlier = await readStub(tx);
  const events = await replaceByStub(tx, signer.sign("stub", tx.tenantId, place, at));
  await notePruned(tx, place.position);
  tx.record({
    type: "audit-record",
    id: tx.tenantId,
    before: { prunedThrough: earlier?.position ?? 0 },
    after: { prunedThrough: place.position, hash: place.hash, events, keptSince: keptSince.toISOString() },
  });
  return true;
}

/** The end of the oldest batches that may go together: a run from the first, since a chain has no holes. */
async function lastOld(tx: TenantTx, keptSince: Date): Promise<ChainPlace | undefined> {
  // One more than may go: the newest of all stays, so that a chain always has a head.
  const seals = await oldestSeals(tx, keptSince, batchesAtOnce + 1);
  const first = seals[0]?.position ?? 0;
  let place: ChainPlace | undefined;
  for (const { old, ...seal } of seals.slice(0, -1)) {
    if (!old || (place !== undefined && seal.position - first > entriesAtOnce)) break;
    place = seal;
  }
  // A quiet tenant's record would otherwise go on for ever to tell that it was pruned.
  return place !== undefined && (await tellsMoreThanPruning(tx, place.position)) ? place : undefined;
}
