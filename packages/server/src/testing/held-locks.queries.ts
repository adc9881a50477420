import { statement } from "../platform/db/statement.ts";
import type { TenantTx } from "../platform/tenancy/tenant-tx.ts";

const select = statement<{ readonly blocks: boolean }, []>(
  "testing.blocks_others",
  `SELECT EXISTS (
     SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
   ) AS blocks`,
);

const selectIndirect = statement<{ readonly blocks: boolean }, []>(
  "testing.blocks_indirectly",
  `SELECT EXISTS (
     SELECT FROM pg_locks AS lock, unnest(pg_blocking_pids(lock.pid)) AS blocker (pid)
     WHERE NOT lock.granted AND pg_backend_pid() = ANY (pg_blocking_pids(blocker.pid))
   ) AS blocks`,
);

/** Whether another transaction waits for a lock of this one. */
export async function blocksOthers(tx: TenantTx): Promise<boolean> {
  return (await tx.query(select))[0]?.blocks === true;
}

/** Whether a transaction waits for another one that waits for a lock of this one. */
export async function blocksIndirectly(tx: TenantTx): Promise<boolean> {
  return (await tx.query(selectIndirect))[0]?.blocks === true;
}
