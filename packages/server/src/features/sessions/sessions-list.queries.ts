import type { ListSource } from "../../platform/db/list-statement.ts";
import type { Filter, ListQuery } from "../../platform/list-query.ts";
import { listCountedPage } from "../../platform/tenancy/list-page.queries.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { type PersonSessionRow, personSessionColumns } from "./people-sessions.queries.ts";

/** A session with its user's address. */
export interface ListedSessionRow extends PersonSessionRow {
  readonly email: string;
}

const source: ListSource = {
  table: "sessions",
  select: `item.${personSessionColumns.replaceAll(/,\s*/g, ", item.")},
    (SELECT email FROM users WHERE tenant_id = item.tenant_id AND id = item.user_id) AS email`,
  columns: {
    id: { value: "item.id" },
    createdAt: { value: "item.created_at" },
    lastUsedAt: { value: "item.last_used_at" },
    "user.id": { value: "item.user_id" },
    method: { value: "item.method" },
  },
};

/** @param only the user whose sessions are listed; undefined for all users */
export function listPeopleSessions(
  tx: TenantTx,
  query: ListQuery,
  only: string | undefined,
): Promise<{ readonly rows: ListedSessionRow[]; readonly total: number }> {
  const own: Filter[] = only === undefined ? [] : [{ field: "user.id", kind: "uuid", operator: "eq", values: [only] }];
  return listCountedPage(tx, source, { ...query, filters: [...query.filters, ...own] });
}
