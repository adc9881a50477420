/** A list as data: what it shows, and what it can be asked. */
import type { ReactNode } from "react";
import type { PagedSource, WholeSource } from "../app/api.ts";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** The text that the list is sorted by. Of paged lists, the field's name says how the server sorts. */
  readonly sortBy?: string | ((row: Row) => string | number);
  /** Narrower screens leave the column out. */
  readonly from?: "xs" | "sm" | "md" | "lg";
}

/** What the list is asked for beside the search. */
export interface Filter<Row> {
  /** In the address. Of paged lists, the field that the server filters by, unless `asks` says another. */
  readonly field: string;
  readonly title: string;
  /** Of a choice. */
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  /** A choice where absent. `text` is meant as a whole, `part` anywhere in the field; `moment` is a time in the API's form. */
  readonly kind?: "choice" | "text" | "part" | "moment";
  /** The parameter that the server takes it as, such as `filter[createdAt][gte]`. */
  readonly asks?: string;
  /** Stands behind a button until somebody asks for it. */
  readonly isRare?: boolean;
  /** Of whole lists. */
  readonly matches?: (row: Row, value: string) => boolean;
}

export interface ListDefinition<Row extends { readonly id: string }> {
  readonly source: PagedSource<Row> | WholeSource<Row>;
  /** As a person calls them: "users". */
  readonly noun: string;
  /** Of paged lists a field; of whole lists what of a row is searched. Absent: no search. */
  readonly search?: { readonly label: string; readonly by: string | ((row: Row) => string) };
  readonly columns: readonly Column<Row>[];
  readonly filters?: readonly Filter<Row>[];
  /** Such as `-createdAt`; a column's key for whole lists. */
  readonly defaultSort?: string;
  /** What to say and do where there is none at all. */
  readonly empty: { readonly title: string; readonly text: string };
  /** How often it is read anew, in milliseconds, where what it shows changes by itself. */
  readonly refreshMs?: number;
}

/** What a list is asked, as it stands in the address. */
export interface ListState {
  readonly text: string;
  readonly sort: string;
  /** From 1. */
  readonly page: number;
  readonly filters: Readonly<Record<string, string>>;
}

export const pageSize = 25;

export function sortKey<Row>(column: Column<Row>): string | undefined {
  return typeof column.sortBy === "string" ? column.sortBy : column.sortBy && column.key;
}
