/** Reads the entries of a command, and the later history of records. */
import type { Event } from "@gatehouse/contract/records/event";
import { type EntryRow, entryColumns, eventView } from "../../platform/audit/entry.ts";
import { statement } from "../../platform/db/statement.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

/** An entry and the size of its states, in bytes. */
type SizedRow = EntryRow & { readonly size: number };

const sizedColumns = `${entryColumns},
   coalesce(octet_length(item.before::text), 0) + coalesce(octet_length(item.after::text), 0) AS size`;

const selectGeneration = statement<SizedRow, [tenantId: string, generation: number, position: number, limit: number]>(
  "record_history.generation",
  `SELECT ${sizedColumns} FROM audit_events AS item
   WHERE item.tenant_id = $1 AND item.generation = $2 AND item.position > $3 ORDER BY item.position LIMIT $4`,
);
const selectAfter = statement<
  SizedRow,
  [tenantId: string, targetIds: readonly string[], position: number, limit: number]
>(
  "record_history.after",
  `SELECT ${sizedColumns} FROM audit_events AS item
   WHERE item.tenant_id = $1 AND item.target_id = ANY ($2::uuid[]) AND item.position > $3
   ORDER BY item.position LIMIT $4`,
);

/** The bounds of a read. */
export interface HistoryLimits {
  readonly entries: number;
  /** The most bytes of states. */
  readonly bytes: number;
  /** Called before each page. It can throw to end the read. */
  readonly beforePage: () => void;
}

/** Entries in the order of their positions. */
export interface History {
  readonly events: readonly Event[];
  /** False if there are more entries than the limits allow. */
  readonly isComplete: boolean;
}

/** Entries that are read at once. */
const pageSize = 200;

/** The entries of one command or change set. */
export function entriesOfGeneration(tx: TenantTx, generation: number, limits: HistoryLimits): Promise<History> {
  return readPages(0, limits, (position) => tx.query(selectGeneration, tx.tenantId, generation, position, pageSize));
}

/** The first entries about any of the records after a position. */
export function entriesAfter(
  tx: TenantTx,
  targetIds: readonly string[],
  position: number,
  limits: HistoryLimits,
): Promise<History> {
  return readPages(position, limits, (from) => tx.query(selectAfter, tx.tenantId, targetIds, from, pageSize));
}

async function readPages(
  start: number,
  { entries, bytes, beforePage }: HistoryLimits,
  readPage: (after: number) => Promise<readonly SizedRow[]>,
): Promise<History> {
  const events: Event[] = [];
  let position = start;
  let size = 0;
  for (;;) {
    beforePage();
    const page = await readPage(position);
    for (const row of page) {
      size += row.size;
      if (events.length === entries || size > bytes) return { events, isComplete: false };
      events.push(eventView(row));
      position = row.position;
    }
    if (page.length < pageSize) return { events, isComplete: true };
  }
}
