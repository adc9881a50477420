import { statement } from "../platform/db/statement.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";

const select = statement<{ readonly blocks: boolean }, []>(
  "testing.blocks_others",
  `SELECT EXISTS (
     SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
   ) AS blocks`,
);

/** Whether another transaction waits for a lock of this one. */
export async function blocksOthers(tx: TenantTx): Promise<boolean> {
  return (await tx.query(select))[0]?.blocks === true;
}
