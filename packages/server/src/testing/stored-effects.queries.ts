import type { EffectSummary } from "@gatehouse/contract/records/effect";
import { statement } from "../platform/db/statement.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";

const selectEffects = statement<
  { readonly generation: number; readonly summary: EffectSummary | null },
  [tenantId: string, after: number]
>(
  "access.effects_after",
  "SELECT generation, summary FROM access_effects WHERE tenant_id = $1 AND generation > $2 ORDER BY generation",
);

/** The effects of commands after a generation, in order. */
export function readEffects(
  tx: TenantTx,
  after: number,
): Promise<readonly { readonly generation: number; readonly summary: EffectSummary | null }[]> {
  return tx.query(selectEffects, tx.tenantId, after);
}
