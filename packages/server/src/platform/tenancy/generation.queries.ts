import { statement } from "../db/statement.ts";
import type { TenantTx } from "./tenant-tx.ts";

const select = statement<{ generation: number }, [tenantId: string]>(
  "tenancy.generation",
  "SELECT generation FROM tenant_generations WHERE tenant_id = $1",
);

/** How many commands have changed the tenant; undefined once it is deleted. */
export async function readGeneration(tx: TenantTx): Promise<number | undefined> {
  return (await tx.query(select, tx.tenantId))[0]?.generation;
}
