import type { Database } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { TenantTx } from "./tenant-tx.ts";

const select = statement<{ generation: number }, [tenantId: string]>(
  "tenancy.generation",
  "SELECT generation FROM tenant_generations WHERE tenant_id = $1",
);

/**
 * Sets its own tenant before it reads. The inner query needs the result of the outer one (LATERAL), and the planner
 * cannot merge the two (OFFSET 0). With any other plan the statement would return no row, and the record would be read
 * again.
 */
const selectAlone = statement<{ generation: number }, [tenantId: string]>(
  "tenancy.generation_alone",
  `SELECT found.generation
   FROM (SELECT set_config('app.tenant_id', $1::text, true) AS tenant_id OFFSET 0) AS fence
   CROSS JOIN LATERAL (
     SELECT generation FROM tenant_generations WHERE tenant_id = fence.tenant_id::uuid OFFSET 0
   ) AS found`,
);

/** The tenant's generation in one statement, to check whether an earlier read is still current. */
export async function currentGeneration(database: Database, tenantId: string): Promise<number | undefined> {
  return (await database.ask(selectAlone, tenantId))[0]?.generation;
}

/** The number of commands that have changed the tenant; undefined once it is deleted. */
export async function readGeneration(tx: TenantTx): Promise<number | undefined> {
  return (await tx.query(select, tx.tenantId))[0]?.generation;
}

const lock = statement<{ generation: number }, [tenantId: string]>(
  "tenancy.lock_generation",
  "SELECT generation FROM tenant_generations WHERE tenant_id = $1 FOR UPDATE",
);

/**
 * Reads the number of commands that have changed the tenant, and makes all other commands wait until this one ends. The
 * next generation is this command's if it records something. Every command locks this row last, so it must not wait for
 * any other lock afterwards.
 */
export async function lockGeneration(tx: TenantTx): Promise<number> {
  return (await tx.query(lock, tx.tenantId))[0]?.generation ?? 0;
}
