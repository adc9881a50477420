import type { Database } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { TenantTx } from "./tenant-tx.ts";

const select = statement<{ generation: number }, [tenantId: string]>(
  "tenancy.generation",
  "SELECT generation FROM tenant_generations WHERE tenant_id = $1",
);

/**
 * Sets the tenant for itself before it looks: the inner query needs what the outer one gives (LATERAL), and neither can be
 * merged into the other (OFFSET 0). Were it ever planned otherwise, there would be no row, and the record would be read anew.
 */
const selectAlone = statement<{ generation: number }, [tenantId: string]>(
  "tenancy.generation_alone",
  `SELECT found.generation
   FROM (SELECT set_config('app.tenant_id', $1::text, true) AS tenant_id OFFSET 0) AS fence
   CROSS JOIN LATERAL (
     SELECT generation FROM tenant_generations WHERE tenant_id = fence.tenant_id::uuid OFFSET 0
   ) AS found`,
);

/** The tenant's generation in one statement, to see whether what was read before still stands. */
export async function currentGeneration(database: Database, tenantId: string): Promise<number | undefined> {
  return (await database.ask(selectAlone, tenantId))[0]?.generation;
}

/** How many commands have changed the tenant; undefined once it is deleted. */
export async function readGeneration(tx: TenantTx): Promise<number | undefined> {
  return (await tx.query(select, tx.tenantId))[0]?.generation;
}

const lock = statement<{ generation: number }, [tenantId: string]>(
  "tenancy.lock_generation",
  "SELECT generation FROM tenant_generations WHERE tenant_id = $1 FOR UPDATE",
);

/**
 * Reads how many commands have changed the tenant, and makes all others wait until this one ends: it will be the next
 * generation if it records something. Every command locks this row last, so nothing that others hold may be waited for
 * afterwards.
 */
export async function lockGeneration(tx: TenantTx): Promise<number> {
  return (await tx.query(lock, tx.tenantId))[0]?.generation ?? 0;
}
