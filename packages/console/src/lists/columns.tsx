/** Columns that many lists share. */
import { t } from "../messages/i18n.ts";
import { Kind } from "../records/kind-icon.tsx";
import { RecordLink } from "../records/record-link.tsx";
import type { Column } from "./list-definition.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The name, as a link to the page of the record. Paged lists sort by the field `name`. */
export function nameColumn<Row extends Named>(folder: string, source: "paged" | "whole"): Column<Row> {
  return {
    key: "name",
    title: t("common.name"),
    sortBy: source === "paged" ? "name" : ({ name }) => name,
    cell: ({ id, name }) => (
      <Kind of={folder}>
        <RecordLink to={`/${folder}/${id}`}>{name}</RecordLink>
      </Kind>
    ),
  };
}
