/** Columns that many lists have. */
import { RecordLink } from "../records/record-link.tsx";
import type { Column } from "./list-definition.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The name, which leads to the record's page. Of a list that the server pages, it sorts by the field. */
export function nameColumn<Row extends Named>(folder: string, source: "paged" | "whole"): Column<Row> {
  return {
    key: "name",
    title: "Name",
    sortBy: source === "paged" ? "name" : ({ name }) => name,
    cell: ({ id, name }) => <RecordLink to={`/${folder}/${id}`}>{name}</RecordLink>,
  };
}
