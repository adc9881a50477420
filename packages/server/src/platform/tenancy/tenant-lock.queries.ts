/**
 * Commands of a tenant run side by side, each holding the tenant together with the others. A command that reads and writes
 * all of the tenant holds it alone: it waits for those that are running, and those that come wait for it, so that it can
 * neither meet rows that change under it, nor wait in a circle with commands that lock them in another order.
 */
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

const key = "hashtextextended('commands of tenant ' || $1::text, 0)";

const holdTogether = statement<never, [tenantId: string]>(
  "tenancy.hold",
  `SELECT pg_advisory_xact_lock_shared(${key})`,
);
const holdAlone = statement<never, [tenantId: string]>("tenancy.hold_alone", `SELECT pg_advisory_xact_lock(${key})`);

/** Holds the tenant until the transaction ends. The first statement of a command: those after it see what it waited for. */
export async function holdTenant(transaction: Transaction, tenantId: string, alone: boolean): Promise<void> {
  await transaction.query(alone ? holdAlone : holdTogether, tenantId);
}
