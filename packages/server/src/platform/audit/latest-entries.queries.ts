/** Reads the state in which the latest entry about each record left it. */
import { statement } from "../db/statement.ts";
import type { TenantTx } from "../tenancy/tenant-tx.ts";

export interface LatestEntryRow {
  readonly id: string;
  /** Null after a deletion. */
  readonly after: Readonly<Record<string, unknown>> | null;
}

const selectLatest = statement<LatestEntryRow, [tenantId: string, targetType: string]>(
  "audit.latest_entries",
  `SELECT DISTINCT ON (target_id) target_id AS id, after FROM audit_events
   WHERE tenant_id = $1 AND target_type = $2 ORDER BY target_id, position DESC`,
);

const selectAll = statement<LatestEntryRow, [tenantId: string, targetType: string]>(
  "audit.entries_of_type",
  `SELECT target_id AS id, after FROM audit_events
   WHERE tenant_id = $1 AND target_type = $2 ORDER BY position`,
);

/** The latest entry about each record of a type. Records whose entries were pruned are absent. */
export function latestEntries(tx: TenantTx, targetType: string): Promise<LatestEntryRow[]> {
  return tx.query(selectLatest, tx.tenantId, targetType);
}

/** All entries about records of a type, the oldest first. */
export function entriesOfType(tx: TenantTx, targetType: string): Promise<LatestEntryRow[]> {
  return tx.query(selectAll, tx.tenantId, targetType);
}
