/** The table of a panel. If the panel is narrow, each row is a card that keeps every field (tables.css). */
import { Table, VisuallyHidden } from "@mantine/core";
import type { ReactNode, Ref } from "react";
import { t } from "../messages/i18n.ts";
import type { dropTarget } from "./reorder.tsx";

export interface PanelColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** The cell is a line of the card, with its title. A card shows other cells beside the name. */
  readonly isBelow?: true;
}

/** The means to reorder the rows. A phone has no room for grips, so the actions of the rows move them too. */
interface RowOrder<Row> {
  /** The heading of the grips, for screen readers. */
  readonly title: string;
  readonly grip: (row: Row) => ReactNode;
  /** The props of a row on which another can be dropped. */
  readonly target: (row: Row) => ReturnType<typeof dropTarget>;
}

interface PanelTableProps<Row> {
  readonly rows: readonly Row[];
  /** The first column that is not a line of the card names the record. */
  readonly columns: readonly PanelColumn<Row>[];
  /** The buttons of a row, at its end. */
  readonly actions?: ((row: Row) => ReactNode) | undefined;
  readonly order?: RowOrder<Row> | undefined;
  readonly body?: Ref<HTMLTableSectionElement>;
}

export function PanelTable<Row extends { readonly id: string }>(props: PanelTableProps<Row>) {
  const { rows, columns, actions, order, body } = props;
  const main = columns.find(({ isBelow = false }) => !isBelow);
  return (
    <Table className="record-table cards">
      <Table.Thead>
        <Table.Tr>
          {order !== undefined && (
            <Table.Th w={50} visibleFrom="xs">
              <VisuallyHidden>{order.title}</VisuallyHidden>
            </Table.Th>
          )}
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
      <Table.Tbody {...(body === undefined ? {} : { ref: body })}>
        {rows.map((row) => (
          <Table.Tr key={row.id} {...(order === undefined ? {} : order.target(row))}>
            {order !== undefined && <Table.Td visibleFrom="xs">{order.grip(row)}</Table.Td>}
            {columns.map((column) => (
              <Table.Td
                key={column.title}
                data-main={column === main || undefined}
                {...(column.isBelow === true ? { "data-label": column.title } : {})}
              >
                {column.cell(row)}
              </Table.Td>
            ))}
            {actions !== undefined && <Table.Td className="row-actions">{actions(row)}</Table.Td>}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
