/** Keeps the search, filters, sort order and page of a list in the address, for sharing and for the back button. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
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
  const search = useSearch({ strict: false }) as Search; // the router parses every value as a string
  const navigate = useNavigate();
  const state = useMemo(() => readListState(search, fields, defaultSort, size), [search, fields, defaultSort, size]);
  const change = (next: Search, replace = false) =>
    void navigate({ to: ".", search: searchAfter(search, next), replace, resetScroll: false });
  return { state, search, change };
}
