import type { Database } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { TenantTx } from "./tenant-tx.ts";

/** Two equal states of a tenant mean that nothing that answers show was written in between. */
export interface TenantState {
  /** The number of commands that have changed the tenant. */
  readonly generation: number;
  /** The number of other writes that answers show, such as when gateways were last heard. */
  readonly observations: number;
}

const observationsOf = (tenantId: string) =>
  `coalesce((SELECT count FROM tenant_observations WHERE tenant_id = ${tenantId}), 0)::bigint AS observations`;

const select = statement<TenantState, [tenantId: string]>(
  "tenancy.state",
  `SELECT generation, ${observationsOf("$1")} FROM tenant_generations WHERE tenant_id = $1`,
);

/**
 * Sets its own tenant before it reads. The inner query needs the result of the outer one (LATERAL), and the planner
 * cannot merge the two (OFFSET 0). With any other plan the statement would return no row, and the record would be read
 * again.
 */
const selectAlone = statement<TenantState, [tenantId: string]>(
  "tenancy.state_alone",
  `SELECT found.generation, found.observations
   FROM (SELECT set_config('app.tenant_id', $1::text, true) AS tenant_id OFFSET 0) AS fence
   CROSS JOIN LATERAL (
     SELECT generation, ${observationsOf("fence.tenant_id::uuid")}
     FROM tenant_generations WHERE tenant_id = fence.tenant_id::uuid OFFSET 0
   ) AS found`,
);

/** The tenant's state in one statement, to check whether an earlier read is still current. */
export async function currentState(database: Database, tenantId: string): Promise<TenantState | undefined> {
  return (await database.ask(selectAlone, tenantId))[0];
}

/** The tenant's state in the transaction's snapshot; undefined once the tenant is deleted. */
export async function readTenantState(tx: TenantTx): Promise<TenantState | undefined> {
  return (await tx.query(select, tx.tenantId))[0];
}

/** The number of commands that have changed the tenant; undefined once it is deleted. */
export async function readGeneration(tx: TenantTx): Promise<number | undefined> {
  return (await readTenantState(tx))?.generation;
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
