/** Reads and writes a list's question in the address, so that it can be shared, and gone back to. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { ListState } from "./list-definition.ts";

type Search = Readonly<Record<string, string | undefined>>;

export function readListState(search: Search, fields: readonly string[], defaultSort: string): ListState {
  const page = Number(search.page);
  return {
    text: search.q ?? "",
    sort: search.sort ?? defaultSort,
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    filters: Object.fromEntries(
      fields.flatMap((field) => {
        const value = search[field];
        return value === undefined || value === "" ? [] : [[field, value]];
      }),
    ),
  };
}

/** Whatever changes, but the page, leads back to the first page. */
export function searchAfter(search: Search, change: Search): Search {
  return { ...search, page: undefined, ...change };
}

export function useListState(fields: readonly string[], defaultSort = "") {
  const search = useSearch({ strict: false }) as Search; // the router reads every value as a text
  const navigate = useNavigate();
  const state = useMemo(() => readListState(search, fields, defaultSort), [search, fields, defaultSort]);
  const change = (next: Search, replace = false) =>
    void navigate({ to: ".", search: searchAfter(search, next), replace, resetScroll: false });
  return { state, search, change };
}
