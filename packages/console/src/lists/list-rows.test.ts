import { describe, expect, test } from "vitest";
import type { ListDefinition, ListState } from "./list-definition.ts";
import { pageOf, queryOf } from "./list-rows.ts";
import { readListState, searchAfter } from "./list-state.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly port: number;
}

const rows: readonly Row[] = Array.from({ length: 60 }, (_, index) => ({
  id: String(index),
  name: `Gateway ${index}`,
  port: 60 - index,
}));
const definition: ListDefinition<Row> = {
  source: { kind: "whole", path: "/rows", read: async () => rows },
  noun: "rows",
  search: { label: "Name", by: ({ name }) => name },
  columns: [
    { key: "name", title: "Name", cell: ({ name }) => name, sortBy: ({ name }) => name },
    { key: "port", title: "Port", cell: ({ port }) => port, sortBy: ({ port }) => port },
  ],
  filters: [
    { field: "even", title: "Even", options: [], matches: ({ port }, value) => (port % 2 === 0) === (value === "yes") },
  ],
  empty: { title: "", text: "", action: { label: "", to: "/", permission: "users:write" }, guide: "tour" },
};
const state = (change: Partial<ListState> = {}): ListState => ({
  text: "",
  sort: "name",
  page: 1,
  size: 25,
  filters: {},
  ...change,
});
const ids = (asked: ListState) => pageOf(rows, definition, asked).data.map(({ id }) => Number(id));

describe("an unpaged list", () => {
  test("is sorted in natural order, in both directions", () => {
    expect(ids(state()).slice(0, 3)).toEqual([0, 1, 2]);
    expect(ids(state({ sort: "-name" })).slice(0, 3)).toEqual([59, 58, 57]);
    expect(ids(state({ sort: "port" }))[0]).toBe(59);
  });

  test("is searched, filtered and paged, with the number of matches", () => {
    expect(pageOf(rows, definition, state({ text: "WAY 5" })).total).toBe(11);
    expect(pageOf(rows, definition, state({ filters: { even: "yes" } })).total).toBe(30);
    expect(ids(state({ page: 3 }))).toEqual([50, 51, 52, 53, 54, 55, 56, 57, 58, 59]);
    expect(ids(state({ page: 9 }))).toEqual([]);
  });
});

test("the query of a paged list holds sort, filters and an escaped search text", () => {
  const paged: ListDefinition<Row> = { ...definition, search: { label: "Name", by: "name" } };
  expect(
    queryOf(paged, state({ text: "50%_a\\", sort: "-createdAt", page: 3, filters: { status: "active" } })),
  ).toEqual({
    limit: 25,
    offset: 50,
    sort: "-createdAt",
    "filter[name][ilike]": "%50\\%\\_a\\\\%",
    "filter[status]": "active",
  });
});

describe("the address", () => {
  test.each(["", "0", "-1", "1.5", "x", undefined])("with page %s shows the first page", (page) => {
    expect(readListState({ page }, [], "name").page).toBe(1);
  });

  test("contains the search and filters, and a new search starts on the first page", () => {
    const search = { q: "ann", page: "4", status: "active", other: "x" };
    expect(readListState(search, ["status"], "email")).toEqual({
      text: "ann",
      sort: "email",
      page: 4,
      size: 25,
      filters: { status: "active" },
    });
    expect(searchAfter(search, { q: "bob" })).toEqual({ ...search, q: "bob", page: undefined });
    expect(searchAfter(search, { page: "5" })).toEqual({ ...search, page: "5" });
  });
});
