/** Reads the entries of a command, and the later history of records. */
import type { Event } from "@gatehouse/contract/records/event";
import { type EntryRow, entryColumns, eventView } from "../../platform/audit/entry.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

const selectGeneration = statement<EntryRow, [tenantId: string, generation: number, limit: number]>(
  "record_history.generation",
  `SELECT ${entryColumns} FROM audit_events AS item
   WHERE item.tenant_id = $1 AND item.generation = $2 ORDER BY item.position LIMIT $3`,
);
const selectAfter = statement<
  EntryRow,
  [tenantId: string, targetIds: readonly string[], position: number, limit: number]
>(
  "record_history.after",
  `SELECT ${entryColumns} FROM audit_events AS item
   WHERE item.tenant_id = $1 AND item.target_id = ANY ($2::uuid[]) AND item.position > $3
   ORDER BY item.position LIMIT $4`,
);

/** The entries of one command or change set, at most `limit`. */
export async function entriesOfGeneration(tx: TenantTx, generation: number, limit: number): Promise<readonly Event[]> {
  return (await tx.query(selectGeneration, tx.tenantId, generation, limit)).map(eventView);
}

/** The first entries about any of the records after a position, at most `limit`. */
export async function entriesAfter(
  tx: TenantTx,
  targetIds: readonly string[],
  position: number,
  limit: number,
): Promise<readonly Event[]> {
  return (await tx.query(selectAfter, tx.tenantId, targetIds, position, limit)).map(eventView);
}
