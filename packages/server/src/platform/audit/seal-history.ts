/** Covers the access effects and facts from before seals had details by an entry of each tenant's record. */
import { AppError } from "../app-error.ts";
import type { Clock } from "../clock.ts";
import { type CommandRunner, runCommand } from "../command.ts";
import { newId } from "../ids.ts";
import type { Log } from "../log.ts";
import { empty } from "../outcome.ts";
import { lockGeneration } from "../tenancy/generation.queries.ts";
import { accessRecordHash } from "./access-rows.queries.ts";
import { noteHistorySealed, tenantsWithOpenHistory } from "./checkpoints.queries.ts";
import { type HistoryBaseline, sealHistoryOperation } from "./history-baseline.ts";

const tenantsAtOnce = 500;
const nilUuid = "00000000-0000-0000-0000-000000000000";

/**
 * Safe on every replica: a tenant's row is locked while its entry is written. If one history cannot be sealed, the
 * others are still sealed.
 *
 * @throws AppError database_unavailable; the first of the other errors, after all histories were tried
 */
export async function sealHistory(runner: CommandRunner, clock: Clock, log: Log): Promise<void> {
  const { database } = runner;
  const failures: unknown[] = [];
  for (let after: string | undefined = nilUuid; after !== undefined; ) {
    const from: string = after;
    const tenants = await database.snapshot({ kind: "operator" }, (tx) =>
      tenantsWithOpenHistory(tx, from, tenantsAtOnce),
    );
    for (const tenantId of tenants) {
      try {
        await sealTenant(runner, clock, tenantId);
      } catch (error) {
        // Every other history would fail in the same way.
        if (error instanceof AppError) throw error;
        log.error({ err: error, tenantId }, "failed to seal the access history of a tenant; will retry");
        failures.push(error);
      }
    }
    after = tenants.length < tenantsAtOnce ? undefined : tenants.at(-1);
  }
  if (failures.length > 0) throw failures[0];
}

async function sealTenant(runner: CommandRunner, clock: Clock, tenantId: string): Promise<void> {
  const origin = {
    actor: { type: "system", name: "Gatehouse" },
    operation: sealHistoryOperation,
    requestId: newId(),
    at: clock.now(),
  } as const;
  const scope = { kind: "operator", tenantId } as const;
  await runCommand(runner, { scope, tenantId, origin, idempotency: undefined }, async (tx) => {
    const historyThrough = await lockGeneration(tx);
    if (!(await noteHistorySealed(tx))) return empty();
    const after: HistoryBaseline = { historyThrough, historyHash: await accessRecordHash(tx, historyThrough) };
    tx.record({ type: "audit-record", id: tenantId, after });
    return empty();
  });
}
