/** Deletes rows that are not needed any more, for one tenant after another. */
import type { BackgroundTask } from "../platform/background-task.ts";
import { TenantRounds, type TenantRoundsOptions } from "../platform/concurrency/tenant-rounds.ts";
import type { Database, Transaction } from "../platform/db/database.ts";

export interface ClearingOptions extends Pick<TenantRoundsOptions, "log" | "failed"> {
  readonly name: string;
  /** The time between two runs, in milliseconds. */
  readonly intervalMs: number;
  readonly database: Database;
  /** Reads the tenants that have such rows. */
  readonly tenantsWith: (tx: Transaction) => Promise<readonly { readonly tenant_id: string }[]>;
  readonly clear: (tx: Transaction, tenantId: string) => Promise<unknown>;
}

/** The task that clears tenants. A tenant with busy locks does not delay the others. */
export function clearingTask(options: ClearingOptions): BackgroundTask {
  const { name, intervalMs, log, failed, database, tenantsWith, clear } = options;
  const rounds = new TenantRounds({ log, failed, isRare: true });
  return {
    name,
    intervalMs,
    run: async () => {
      const rows = await database.snapshot({ kind: "operator" }, tenantsWith);
      const tenantIds = rows.map(({ tenant_id: id }) => id);
      await rounds.run(tenantIds, async (tenantId, waitMs) => {
        await database.transaction({ kind: "operator", tenantId, waitMs }, (tx) => clear(tx, tenantId));
      });
    },
    stop: () => rounds.stop(),
  };
}
