/** A list as data: its source, columns, search and filters. */
import type { Permission } from "@gatehouse/contract/permissions";
import type { ReactNode } from "react";
import type { PagedSource, WholeSource } from "../app/api.ts";
import type { EmptyList } from "../records/empty-list.tsx";
import type { PlannedChange } from "../records/planned-change.ts";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  /** A shorter title for cards, each of which repeats it. */
  readonly cardTitle?: string;
  readonly cell: (row: Row) => ReactNode;
  /** The sort value of a row. Paged lists give the name of the field that the server sorts by. */
  readonly sortBy?: string | ((row: Row) => string | number);
  /** The narrowest table that shows the column. Narrow screens show no table, but a card for each row. */
  readonly visibleFrom?: "sm" | "md" | "lg" | "xl";
  /**
   * Shows the cell of a fact that a person needs to decide as a line of the card, below the name of the record.
   * `visibleFrom` then hides the column only from tables. A card shows cells without either beside the name.
   */
  readonly isBelow?: true;
  /** The cell contains buttons, which need no heading. The column is last. */
  readonly isAction?: true;
}

/** A filter beside the search. */
export interface Filter<Row> {
  /** The name in the address. Paged lists filter by this field, unless `parameter` names another. */
  readonly field: string;
  readonly title: string;
  /**
   * A sentence that says more than the title, for filters of the kinds `chips` and `switch`. It is also shown if no
   * record matches.
   */
  readonly help?: string;
  /** The options of a choice, or of chips. */
  readonly options?: readonly {
    readonly value: string;
    readonly label: string;
    /** The query parameter and its value, if they are not those of the filter. */
    readonly query?: readonly [parameter: string, value: string];
  }[];
  /**
   * Default: `choice`. `chips` are a choice of few options, each of them one click. `text` matches the whole field,
   * `part` any part of it; `date-time` is an RFC 3339 time. `user` is a person and `group` a group, by id. `switch`
   * is on or off; `toStored` gives the value that it filters by.
   */
  readonly kind?: "choice" | "chips" | "text" | "part" | "date-time" | "user" | "group" | "switch";
  /** The query parameter, such as `filter[createdAt][gte]`. */
  readonly parameter?: string;
  /** Converts what a person types to what the field holds, such as "Updated policy" to "updatepolicy". */
  readonly toStored?: (value: string) => string;
  /** Hidden behind the button "More filters". */
  readonly isAdvanced?: boolean;
  /** Filters the rows of unpaged lists. */
  readonly matches?: (row: Row, value: string) => boolean;
}

export interface ListDefinition<Row extends { readonly id: string }> {
  readonly source: PagedSource<Row> | WholeSource<Row>;
  /** The plural of the records, such as "users". */
  readonly noun: string;
  /** The field that a paged list searches, or the text of a row in an unpaged list. Absent: no search. */
  readonly search?: { readonly label: string; readonly by: string | ((row: Row) => string) };
  readonly columns: readonly Column<Row>[];
  readonly filters?: readonly Filter<Row>[];
  /** Facts of a row that no column has, for the side panel. */
  readonly details?: (row: Row) => ReactNode;
  /** Without any, rows cannot be selected. */
  readonly bulk?: readonly BulkAction<Row>[];
  /** Such as `-createdAt`. Unpaged lists use the key of a column. */
  readonly defaultSort?: string;
  /** The key by which a list in parts is sorted if it comes in one part. A longer list has the order of the server. */
  readonly shortSort?: string;
  /** Shown if the list has no records at all. */
  readonly empty: EmptyList;
  /** The polling interval in milliseconds, for lists that change by themselves. */
  readonly refreshMs?: number;
}

/** A change of many selected records. */
export interface BulkAction<Row> {
  /** The label of the button, and of the button that confirms. */
  readonly label: string;
  readonly permission: Permission;
  readonly danger?: boolean;
  /** False if the change cannot affect access. */
  readonly changesAccess?: boolean;
  /** The consequences apart from access. */
  readonly note: string;
  /** A record to choose first, such as the group to add users to. */
  readonly choose?: { readonly path: "/tenants/groups"; readonly label: string };
  /**
   * The change of one record; undefined if the record needs none.
   *
   * @param chosen the id of the chosen record, or an empty text
   */
  readonly plan: (row: Row, chosen: string) => PlannedChange | undefined;
}

/** The search, filters, sort order and page of a list, as in the address. */
export interface ListState {
  readonly text: string;
  readonly sort: string;
  /** Starts at 1. */
  readonly page: number;
  /** Rows on a page. */
  readonly size: number;
  readonly filters: Readonly<Record<string, string>>;
}

/** The name of a row for people: rows have a name, an email address or neither. */
export function labelOf(row: { readonly id: string }): string {
  const { name, email, address } = row as {
    readonly name?: unknown;
    readonly email?: unknown;
    readonly address?: unknown;
  };
  return [name, email, address].find((value): value is string => typeof value === "string" && value !== "") ?? row.id;
}

export function sortKey<Row>(column: Column<Row>): string | undefined {
  return typeof column.sortBy === "string" ? column.sortBy : column.sortBy && column.key;
}
