import { AppError } from "../app-error.ts";
import {
  countStatement,
  type ListSource,
  pageIdsStatement,
  pageRowsStatement,
  pageStatement,
  recordStatement,
} from "../db/list-statement.ts";
import { statement } from "../db/statement.ts";
import type { ListQuery } from "../list-query.ts";
import type { TenantTx } from "./tenant-tx.ts";

/** @throws AppError invalid_parameter if the record that the page follows does not exist */
export async function requireFollowed(
  tx: Pick<TenantTx, "query">,
  source: ListSource,
  { after }: ListQuery,
): Promise<void> {
  if (after === undefined) return;
  const record = recordStatement(source, after);
  const [found] = await tx.query(record.statement, ...record.parameters);
  if (found !== undefined) return;
  const message = "names no record of this list. It may have been deleted: start with the first page";
  throw new AppError("invalid_parameter", {
    detail: `page[after] ${message}.`,
    errors: [{ pointer: "page[after]", message }],
  });
}

const selectKeptCount = statement<{ count: number }, [tenantId: string, kind: string]>(
  "record_counts.read",
  "SELECT count FROM record_counts WHERE tenant_id = $1 AND kind = $2",
);

/**
 * A page of a list whose table has an exact count in `record_counts`. Without filters that count is the total, at any
 * size of the table. With filters the matching rows are counted.
 */
export async function listPage<Row>(
  tx: TenantTx,
  source: ListSource,
  query: ListQuery,
): Promise<{ readonly rows: Row[]; readonly total: number }> {
  const isFiltered = query.filters.length > 0;
  const page = pageIdsStatement(source, query, isFiltered);
  const [counts, counted, rows] = await Promise.all([
    isFiltered ? [] : tx.query(selectKeptCount, tx.tenantId, source.table),
    tx.query(page.statement, ...page.parameters),
    tx.query(pageRowsStatement<Row>(source)),
    requireFollowed(tx, source, query),
  ]);
  return { rows, total: counts[0]?.count ?? counted[0]?.total ?? 0 };
}

/**
 * A page of a list whose table has no count in `record_counts`: the matching rows are counted each time.
 *
 * @param count a faster statement with the same result as the default
 */
export async function listCountedPage<Row>(
  tx: TenantTx,
  source: ListSource,
  query: ListQuery,
  count = countStatement(source, query),
): Promise<{ readonly rows: Row[]; readonly total: number }> {
  const page = pageStatement<Row>(source, query);
  const [rows, counts] = await Promise.all([
    tx.query(page.statement, ...page.parameters),
    tx.query(count.statement, ...count.parameters),
    requireFollowed(tx, source, query),
  ]);
  return { rows, total: counts[0]?.count ?? 0 };
}
