import { statement } from "../../../../platform/db/statement.ts";
import type { TenantTx } from "../../../../platform/tenancy/tenant-tx.ts";

/** The part of a tenant's record that a snapshot of an earlier generation depends on. */
export interface SinceGeneration {
  /** The generation now. */
  readonly generation: number;
  /** The hash of the audit chain at the earlier generation, in hexadecimal. Null if its seals were pruned. */
  readonly chainHash: string | null;
  /** The number of record changes since then that the outbox still contains. */
  readonly changes: number;
}

const select = statement<SinceGeneration, [tenantId: string, generation: number]>(
  "access.since_generation",
  `SELECT generation,
     (SELECT encode(hash, 'hex') FROM audit_seals WHERE tenant_id = $1 AND audit_seals.generation <= $2
      ORDER BY audit_seals.generation DESC LIMIT 1) AS "chainHash",
     (SELECT coalesce(sum(jsonb_array_length(changes)), 0)::bigint FROM outbox
      WHERE tenant_id = $1 AND outbox.generation > $2) AS changes
   FROM tenant_generations WHERE tenant_id = $1`,
);

/** @returns undefined once the tenant is deleted */
export async function readSinceGeneration(tx: TenantTx, generation: number): Promise<SinceGeneration | undefined> {
  return (await tx.query(select, tx.tenantId, generation))[0];
}
