import type { Database } from "../db/database.ts";
import { type ListColumn, type ListSource, type ListStatement, orderOf, whereOf } from "../db/list-statement.ts";
import { unprepared } from "../db/statement.ts";
import type { ListQuery } from "../list-query.ts";
import { readTenantState } from "../tenancy/generation.queries.ts";
import { ListOrder, nameSeparator, type OrderChunk } from "./list-order.ts";

interface OrderRow extends OrderChunk {
  /** Whether the database converts ASCII letters to lower case like JavaScript. */
  readonly lowers: boolean;
}

const idsPerChunk = 4_096;
const letters = "abcdefghijklmnopqrstuvwxyz";

function orderStatement(
  source: ListSource,
  query: Pick<ListQuery, "sort" | "filters">,
  searched: ListColumn | undefined,
  most: number,
): ListStatement<OrderRow> {
  const parameters: unknown[] = [];
  const where = whereOf(source, query.filters, parameters);
  const order = orderOf(source, { ...query, limit: 0, offset: 0 });
  const name = searched?.key === undefined ? "NULL::text" : searched.key;
  const separator = `$${parameters.push(nameSeparator)}::text`;
  const text = `
    SELECT string_agg(uuid_send(id), ''::bytea ORDER BY place) AS ids,
           string_agg(name, ${separator} ORDER BY place) AS names,
           lower('${letters.toUpperCase()}') = '${letters}' AS lowers
    FROM (
      SELECT item.id, ${name} AS name, row_number() OVER (${order}) AS place
      FROM ${source.table} AS item ${where} ${order} LIMIT ${most + 1}
    ) AS listed
    GROUP BY (place - 1) / ${idsPerChunk} ORDER BY (place - 1) / ${idsPerChunk}`;
  return { statement: unprepared(text), parameters };
}

/**
 * Reads a whole order in one snapshot.
 *
 * @param searched the column by whose key the order is searched; undefined if it is not
 * @param most the most rows
 * @param pause waits until other work has had its turn
 * @returns undefined if there are more rows, or if they cannot be searched
 */
export async function readListOrder(
  database: Database,
  tenantId: string,
  source: ListSource,
  query: Pick<ListQuery, "sort" | "filters">,
  searched: ListColumn | undefined,
  most: number,
  pause: () => Promise<unknown>,
): Promise<ListOrder | undefined> {
  const { statement, parameters } = orderStatement(source, query, searched, most);
  const { state, rows } = await database.snapshot({ kind: "tenant", tenantId }, async (transaction) => {
    const [state, rows] = await Promise.all([
      readTenantState({ tenantId, query: transaction.query }),
      transaction.query(statement, ...parameters),
    ]);
    return { state, rows };
  });
  const count = rows.reduce((sum, { ids }) => sum + ids.length / 16, 0);
  const cannotBeSearched = searched !== undefined && rows.some(({ lowers }) => !lowers);
  if (state === undefined || count > most || cannotBeSearched) return undefined;
  return ListOrder.of(state.generation, rows, pause);
}
