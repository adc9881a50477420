/** Covers the access effects and facts from before seals had details by an entry of each tenant's record. */
import type { Clock } from "../clock.ts";
import { type CommandRunner, runCommand } from "../command.ts";
import type { TenantRounds } from "../concurrency/tenant-rounds.ts";
import { newId } from "../ids.ts";
import { empty } from "../outcome.ts";
import { lockGeneration } from "../tenancy/generation.queries.ts";
import { accessRecordHash } from "./access-rows.queries.ts";
import { noteHistorySealed, tenantsWithOpenHistory } from "./checkpoints.queries.ts";
import { type HistoryBaseline, sealHistoryOperation } from "./history-baseline.ts";

const tenantsAtOnce = 500;

/**
 * Safe on every replica: a tenant's row is locked while its entry is written. If one history cannot be sealed, the
 * others are still sealed.
 *
 * @throws as `TenantRounds.runPages`
 */
export async function sealHistory(runner: CommandRunner, clock: Clock, rounds: TenantRounds): Promise<void> {
  const read = (afterTenantId: string) =>
    runner.database.snapshot({ kind: "operator" }, (tx) => tenantsWithOpenHistory(tx, afterTenantId, tenantsAtOnce));
  await rounds.runPages(read, (tenantId, waitMs) => sealTenant(runner, clock, tenantId, waitMs));
}

async function sealTenant(runner: CommandRunner, clock: Clock, tenantId: string, waitMs: number): Promise<void> {
  const origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: sealHistoryOperation,
    requestId: newId(),
    at: clock.now(),
  } as const;
  const scope = { kind: "operator", tenantId, waitMs } as const;
  await runCommand(runner, { scope, tenantId, origin, idempotency: undefined }, async (tx) => {
    const historyThrough = await lockGeneration(tx);
    if (!(await noteHistorySealed(tx))) return empty();
    const after: HistoryBaseline = { historyThrough, historyHash: await accessRecordHash(tx, historyThrough) };
    tx.record({ type: "audit-record", id: tenantId, after });
    return empty();
  });
}
