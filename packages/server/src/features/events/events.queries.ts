import type { ActorType } from "@gatehouse/contract/records/event";
import { countStatement, type ListSource, pageStatement } from "../../platform/db/list-statement.ts";
import { statement } from "../../platform/db/statement.ts";
import type { ListQuery } from "../../platform/list-query.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";

export interface EventRow {
  readonly id: string;
  readonly created_at: string;
  readonly generation: number;
  readonly actor_type: ActorType;
  readonly actor_id: string | null;
  readonly actor_name: string;
  readonly operation: string;
  readonly target_type: string;
  readonly target_id: string;
  readonly target_name: string | null;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly request_id: string;
  readonly source_address: string | null;
}

/** What `eventView` shows; the row is named `item`. */
export const eventColumns = [
  "id",
  "created_at",
  "generation",
  "actor_type",
  "actor_id",
  "actor_name",
  "operation",
  "target_type",
  "target_id",
  "target_name",
  "before",
  "after",
  "request_id",
  "source_address",
]
  .map((column) => `item.${column}`)
  .join(", ");

const source: ListSource = {
  table: "audit_events",
  select: eventColumns,
  columns: {
    id: { value: "item.id" },
    createdAt: { value: "item.created_at" },
    operation: { value: "item.operation" },
    requestId: { value: "item.request_id" },
    "actor.id": { value: "item.actor_id" },
    "target.id": { value: "item.target_id" },
    "target.type": { value: "item.target_type" },
  },
};

const selectEventCount = statement<{ count: number }, [tenantId: string]>(
  "events.kept_count",
  "SELECT event_count AS count FROM tenant_generations WHERE tenant_id = $1",
);

export async function listEvents(
  tx: TenantTx,
  query: ListQuery,
): Promise<{ readonly rows: EventRow[]; readonly total: number }> {
  const page = pageStatement<EventRow>(source, query);
  const count = countStatement(source, query);
  const [rows, counts] = await Promise.all([
    tx.query(page.statement, ...page.parameters),
    query.filters.length === 0
      ? tx.query(selectEventCount, tx.tenantId)
      : tx.query(count.statement, ...count.parameters),
  ]);
  return { rows, total: counts[0]?.count ?? 0 };
}
