/** The table of a panel. If the panel is narrow, each row is a card that keeps every field (tables.css). */
import { Table, VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { t } from "../messages/i18n.ts";

export interface PanelColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** The cell is a line of the card, with its title. A card shows other cells beside the name. */
  readonly isBelow?: true;
}

interface PanelTableProps<Row> {
  readonly rows: readonly Row[];
  /** The first column names the record. */
  readonly columns: readonly PanelColumn<Row>[];
  /** The buttons of a row, at its end. */
  readonly actions?: ((row: Row) => ReactNode) | undefined;
}

export function PanelTable<Row extends { readonly id: string }>({ rows, columns, actions }: PanelTableProps<Row>) {
  return (
    <Table className="record-table cards">
      <Table.Thead>
        <Table.Tr>
          {columns.map(({ title }) => (
            <Table.Th key={title}>{title}</Table.Th>
          ))}
          {actions !== undefined && (
            <Table.Th>
              <VisuallyHidden>{t("common.actions")}</VisuallyHidden>
            </Table.Th>
          )}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((row) => (
          <Table.Tr key={row.id}>
            {columns.map(({ title, cell, isBelow = false }) => (
              <Table.Td key={title} {...(isBelow ? { "data-label": title } : {})}>
                {cell(row)}
              </Table.Td>
            ))}
            {actions !== undefined && <Table.Td className="row-actions">{actions(row)}</Table.Td>}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
