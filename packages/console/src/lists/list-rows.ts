/** The rows of a list: the query for a page of the server, or a page of an unpaged list. */

import type { ListQuery, PageOf } from "../app/api.ts";
import { containsPattern } from "../app/like-pattern.ts";
import { compareText } from "../messages/format.ts";
import { type Filter, type ListDefinition, type ListState, pageSize, sortKey } from "./list-definition.ts";

/** The query of a paged list. */
export function queryOf<Row extends { readonly id: string }>(
  { search, filters: known = [] }: ListDefinition<Row>,
  { text, sort, page, filters }: ListState,
): ListQuery {
  return {
    limit: pageSize,
    offset: (page - 1) * pageSize,
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
      const { kind, parameter = kind === "part" ? `filter[${field}][ilike]` : `filter[${field}]` } =
        known.find((filter) => filter.field === field) ?? {};
      return [parameter, kind === "part" ? containsPattern(value) : value];
    }),
  );
}

/** Returns a page of an unpaged list. */
export function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { search, columns, filters = [] }: ListDefinition<Row>,
  state: ListState,
): PageOf<Row> {
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
  const start = (state.page - 1) * pageSize;
  return { data: matching.slice(start, start + pageSize), total: matching.length };
}

function compare(left: string | number, right: string | number): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  return compareText(String(left), String(right));
}
