/** The rows of a list: the query for a page of the server, or a page of an unpaged list. */

import type { ListQuery, PageOf } from "../app/api.ts";
import { containsPattern } from "../app/like-pattern.ts";
import { compareText } from "../messages/format.ts";
import { type Filter, type ListDefinition, type ListState, sortKey } from "./list-definition.ts";

/** The query of a paged list. */
export function queryOf<Row extends { readonly id: string }>(
  { search, filters: known = [] }: ListDefinition<Row>,
  { text, sort, page, size, filters }: ListState,
): ListQuery {
  return {
    limit: size,
    offset: (page - 1) * size,
    ...(sort === "" ? {} : { sort }),
    ...(text === "" || typeof search?.by !== "string"
      ? {}
      : { [`filter[${search.by}][ilike]`]: containsPattern(text) }),
    ...filtersOf(known, filters),
  };
}

/** The filters as query parameters of the API. */
export function filtersOf<Row>(
  known: readonly Filter<Row>[],
  filters: ListState["filters"],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(filters).map(([field, value]) => {
      const {
        kind,
        parameter,
        options = [],
        toStored = (text: string) => text,
      } = known.find((filter) => filter.field === field) ?? {};
      const own = options.find((option) => option.value === value)?.query;
      if (own !== undefined) return own;
      const name = parameter ?? (kind === "part" ? `filter[${field}][ilike]` : `filter[${field}]`);
      const stored = toStored(value);
      return [name, kind === "part" ? containsPattern(stored) : stored];
    }),
  );
}

/** Returns a page of an unpaged list. */
export function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  definition: ListDefinition<Row>,
  state: ListState,
): PageOf<Row> {
  const matching = matchingRows(rows, definition, state);
  const start = (state.page - 1) * state.size;
  return { data: matching.slice(start, start + state.size), total: matching.length };
}

/** The rows of an unpaged list that match the search and the filters, in the order of the list. */
export function matchingRows<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { search, columns, filters = [] }: ListDefinition<Row>,
  state: ListState,
): readonly Row[] {
  const text = state.text.toLowerCase();
  const { by } = search ?? {};
  const matching = rows.filter(
    (row) =>
      (text === "" || typeof by !== "function" || by(row).toLowerCase().includes(text)) &&
      filters.every(({ field, matches }) => {
        const value = state.filters[field];
        return value === undefined || matches === undefined || matches(row, value);
      }),
  );
  const descending = state.sort.startsWith("-");
  const column = columns.find((candidate) => sortKey(candidate) === state.sort.replace(/^-/, ""));
  const { sortBy } = column ?? {};
  if (typeof sortBy === "function") {
    matching.sort((left, right) => compare(sortBy(left), sortBy(right)) * (descending ? -1 : 1));
  }
  return matching;
}

/** The rows of one request when many are read. The server sends at most as many. */
const rowsAtOnce = 100;

/** Reads all rows that match the search and the filters, up to a limit. */
export async function readMatching<Row extends { readonly id: string }>(
  definition: ListDefinition<Row>,
  state: ListState,
  most: number,
  signal?: AbortSignal,
): Promise<PageOf<Row>> {
  const { source } = definition;
  if (source.kind === "whole") {
    const all = matchingRows(await source.read(signal), definition, state);
    return { data: all.slice(0, most), total: all.length };
  }
  const rows = new Map<string, Row>();
  for (let page = 1; ; page += 1) {
    const query = queryOf(definition, { ...state, page, size: rowsAtOnce });
    const { data, total } = await source.read(query, signal);
    // Records that appear meanwhile shift the pages, so a row can be on two of them.
    for (const row of data) rows.set(row.id, row);
    if (data.length < rowsAtOnce || page * rowsAtOnce >= Math.min(total, most)) {
      return { data: [...rows.values()].slice(0, most), total };
    }
  }
}

function compare(left: string | number, right: string | number): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  return compareText(String(left), String(right));
}
