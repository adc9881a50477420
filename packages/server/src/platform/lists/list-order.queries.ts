import type { Database } from "../db/database.ts";
import { type ListColumn, type ListSource, type ListStatement, orderOf, whereOf } from "../db/list-statement.ts";
import { unprepared } from "../db/statement.ts";
import type { ListQuery } from "../list-query.ts";
import { readTenantState } from "../tenancy/generation.queries.ts";
import { ListOrder, nameSeparator } from "./list-order.ts";

/** A piece of an order. */
interface OrderPiece {
  /** Bytes of the ids. */
  readonly ids: Buffer;
  /** Bytes of the names in UTF-8, separated by `nameSeparator`; null if the order is not searched. */
  readonly names: Buffer | null;
  /** Whether the database converts ASCII letters to lower case like JavaScript. */
  readonly lowers: boolean;
}

/** The maximum size of a row in bytes, so that no row is slow to parse. */
const pieceBytes = 65_536;
const letters = "abcdefghijklmnopqrstuvwxyz";

/**
 * PostgreSQL aggregates the rows of a sorted sub-query in their order. Any other sorting or grouping of 100,000 rows
 * takes several times as long as reading them from an index.
 */
function orderStatement(
  source: ListSource,
  query: Pick<ListQuery, "sort" | "filters">,
  searched: ListColumn | undefined,
  most: number,
): ListStatement<OrderPiece> {
  const parameters: unknown[] = [];
  const where = whereOf(source, query.filters, parameters);
  const order = orderOf(source, { ...query, limit: 0, offset: 0 });
  const key = searched?.key;
  const names =
    key === undefined
      ? "NULL::bytea"
      : `convert_to(string_agg(name, $${parameters.push(nameSeparator)}::text), 'UTF8')`;
  const text = `
    SELECT substring(ids FROM place + 1 FOR ${pieceBytes}) AS ids, substring(names FROM place + 1 FOR ${pieceBytes}) AS names,
           lower('${letters.toUpperCase()}') = '${letters}' AS lowers
    FROM (
      SELECT string_agg(uuid_send(id), ''::bytea) AS ids, ${names} AS names
      FROM (
        SELECT item.id, ${key ?? "NULL::text"} AS name FROM ${source.table} AS item ${where} ${order} LIMIT ${most + 1}
      ) AS sorted
    ) AS listed, LATERAL generate_series(0, greatest(length(ids), length(names)) - 1, ${pieceBytes}) AS place`;
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
  const cannotBeSearched = searched !== undefined && rows.some(({ lowers }) => !lowers);
  const ids = Buffer.concat(rows.map((row) => row.ids));
  if (state === undefined || ids.length / 16 > most || cannotBeSearched) return undefined;
  const names = searched === undefined ? undefined : Buffer.concat(rows.map((row) => row.names ?? Buffer.alloc(0)));
  return ListOrder.of(state.generation, ids, names, pause);
}
