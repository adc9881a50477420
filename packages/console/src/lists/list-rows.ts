/** What a list shows: a page that the server makes, or one made here of a list that came as a whole. */
import type { ListQuery, PageOf } from "../app/api.ts";
import { type Filter, type ListDefinition, type ListState, pageSize, sortKey } from "./list-definition.ts";

/** The question to the server, for a paged list. */
export function queryOf<Row extends { readonly id: string }>(
  { search, filters: known = [] }: ListDefinition<Row>,
  { text, sort, page, filters }: ListState,
): ListQuery {
  return {
    limit: pageSize,
    offset: (page - 1) * pageSize,
    ...(sort === "" ? {} : { sort }),
    ...(text === "" || typeof search?.by !== "string" ? {} : { [`filter[${search.by}][ilike]`]: pattern(text) }),
    ...filtersOf(known, filters),
  };
}

/** What is filtered by, as parameters of the API. */
export function filtersOf<Row>(
  known: readonly Filter<Row>[],
  filters: ListState["filters"],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(filters).map(([field, value]) => {
      const { kind, asks = kind === "part" ? `filter[${field}][ilike]` : `filter[${field}]` } =
        known.find((filter) => filter.field === field) ?? {};
      return [asks, kind === "part" ? pattern(value) : value];
    }),
  );
}

/** What somebody types is meant as it stands: `%`, `_` and the backslash mean themselves. */
export function pattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
}

/** A page of a list that is here as a whole. */
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
  return String(left).localeCompare(String(right), undefined, { sensitivity: "base", numeric: true });
}
