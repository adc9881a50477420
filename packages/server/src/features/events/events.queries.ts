import type { Event } from "@gatehouse/contract/records/event";
import { type EntryRow, eventView } from "../../platform/audit/entry.ts";
import { eventSource } from "../../platform/audit/record.queries.ts";
import { countStatement, pageStatement } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import { requireFollowed } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

const selectEventCount = statement<{ count: number }, [tenantId: string]>(
  "events.kept_count",
  "SELECT event_count - pruned_count AS count FROM tenant_generations WHERE tenant_id = $1",
);

export async function listEvents(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly events: readonly Event[]; readonly total: number }> {
  const page = pageStatement<EntryRow>(eventSource, query);
  const count = countStatement(eventSource, query);
  const [rows, counts] = await Promise.all([
    tx.query(page.statement, ...page.parameters),
    query.filters.length === 0
      ? tx.query(selectEventCount, tx.tenantId)
      : tx.query(count.statement, ...count.parameters),
    requireFollowed(tx, eventSource, query),
  ]);
  return { events: rows.map(eventView), total: counts[0]?.count ?? 0 };
}
