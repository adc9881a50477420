/** Keeps the search, filters, sort order and page of a list in the address, for sharing and for the back button. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ListState } from "./list-definition.ts";
import { defaultPageSize } from "./list-preferences.ts";

type Search = Readonly<Record<string, string | undefined>>;

export function readListState(
  search: Search,
  fields: readonly string[],
  defaultSort: string,
  size = defaultPageSize,
): ListState {
  const page = Number(search.page);
  return {
    text: search.q ?? "",
    sort: search.sort ?? defaultSort,
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    size,
    filters: Object.fromEntries(
      fields.flatMap((field) => {
        const value = search[field];
        return value === undefined || value === "" ? [] : [[field, value]];
      }),
    ),
  };
}

/** Applies a change to the address. A change other than of the page returns to the first page. */
export function searchAfter(search: Search, change: Search): Search {
  return { ...search, page: undefined, ...change };
}

export function useListState(fields: readonly string[], defaultSort = "", size = defaultPageSize) {
  // The list is not rendered again if another part of the address changes, such as the form that is open.
  const state = useSearch({
    strict: false,
    select: (search): ListState => readListState(search as Search, fields, defaultSort, size), // the router parses every value as a string
    structuralSharing: true,
  });
  const navigate = useNavigate();
  const change = (next: Search, replace = false) =>
    void navigate({ to: ".", search: (search: Search) => searchAfter(search, next), replace, resetScroll: false });
  return { state, change };
}
