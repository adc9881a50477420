/** Effects that are computed after the commit of their command. */
import type { EffectSummary } from "@gatehouse/contract/records/effect";
import type { Transaction } from "../../../platform/db/database.ts";
import { statement } from "../../../platform/db/statement.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";

export interface PendingEffect {
  readonly tenantId: string;
  readonly generation: number;
  /** The time of the command. */
  readonly since: string;
}

// Another replica may have completed the effect meanwhile, and pruning may have deleted it.
const updateSummary = statement<
  { generation: number },
  [tenantId: string, generation: number, at: Date, summary: string, sealedIn: number]
>(
  "access.complete_effect",
  `UPDATE access_late_effects SET computed_at = $3, summary = $4::json, sealed_in = $5
   WHERE tenant_id = $1 AND generation = $2 AND summary IS NULL RETURNING generation`,
);

const selectPending = statement<
  PendingEffect,
  [createdBefore: Date, tenantIds: readonly string[], areThese: boolean, limit: number]
>(
  "access.pending_effects",
  `SELECT tenant_id AS "tenantId", generation, since FROM access_late_effects
   WHERE summary IS NULL AND since < $1 AND (tenant_id = ANY ($2::uuid[])) = $3
   ORDER BY row_number() OVER (PARTITION BY tenant_id ORDER BY since), since LIMIT $4`,
);

/**
 * Stores a computed effect, in the transaction that makes the generation `sealedIn` and holds its lock.
 *
 * @returns whether the effect was still pending
 */
export async function storeLateEffect(
  tx: TenantTx,
  effect: {
    readonly generation: number;
    readonly at: Date;
    readonly summary: EffectSummary;
    readonly sealedIn: number;
  },
): Promise<boolean> {
  const { generation, at, summary, sealedIn } = effect;
  const stored = await tx.query(updateSummary, tx.tenantId, generation, at, JSON.stringify(summary), sealedIn);
  return stored.length > 0;
}

/** Pending effects of tenants: first the oldest of each tenant, then the second oldest of each, and so on. */
export function readPendingEffects(
  tx: Transaction,
  createdBefore: Date,
  tenants: { readonly only: readonly string[] } | { readonly except: readonly string[] },
  limit: number,
): Promise<readonly PendingEffect[]> {
  const areThese = "only" in tenants;
  return tx.query(selectPending, createdBefore, areThese ? tenants.only : tenants.except, areThese, limit);
}
