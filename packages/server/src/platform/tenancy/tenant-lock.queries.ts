/**
 * Commands of a tenant run concurrently and hold a shared lock on the tenant. A command that reads and writes the whole
 * tenant holds the lock exclusively: it waits for running commands, and later ones wait for it. Therefore rows do not
 * change under it, and it cannot deadlock with commands that lock rows in another order.
 */
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

const key = "hashtextextended('commands of tenant ' || $1::text, 0)";

const holdTogether = statement<never, [tenantId: string]>(
  "tenancy.hold",
  `SELECT pg_advisory_xact_lock_shared(${key})`,
);
const holdAlone = statement<never, [tenantId: string]>("tenancy.hold_alone", `SELECT pg_advisory_xact_lock(${key})`);

/**
 * Locks the tenant until the transaction ends. Must be the first statement of a command, so that later statements see
 * the changes that the lock waited for.
 */
export async function holdTenant(transaction: Transaction, tenantId: string, alone: boolean): Promise<void> {
  await transaction.query(alone ? holdAlone : holdTogether, tenantId);
}
