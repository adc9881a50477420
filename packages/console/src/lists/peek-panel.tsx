/** A row in a panel at the side, without leaving the list. */
import { Button, Drawer, Group, Stack } from "@mantine/core";
import { t } from "../messages/i18n.ts";
import { Facts } from "../records/record-page.tsx";
import { type Column, labelOf } from "./list-definition.ts";

interface PeekPanelProps<Row extends { readonly id: string }> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly row: Row;
  readonly show: (row: Row | undefined) => void;
}

export function PeekPanel<Row extends { readonly id: string }>({ columns, rows, row, show }: PeekPanelProps<Row>) {
  const index = rows.findIndex(({ id }) => id === row.id);
  const step = (by: number) => {
    const next = rows[index + by];
    if (next !== undefined) show(next);
  };
  return (
    <Drawer
      opened
      onClose={() => show(undefined)}
      position="right"
      size="md"
      className="peek-panel"
      title={<bdi>{labelOf(row)}</bdi>}
      attributes={{ header: { role: "presentation" } }}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <Stack>
        <Facts facts={columns.map(({ title, cell }) => ({ label: title, value: cell(row) }))} />
        <Group>
          <Button variant="default" size="xs" disabled={index <= 0} onClick={() => step(-1)}>
            {t("lists.peek.previous")}
          </Button>
          <Button variant="default" size="xs" disabled={index === rows.length - 1} onClick={() => step(1)}>
            {t("lists.peek.next")}
          </Button>
        </Group>
      </Stack>
    </Drawer>
  );
}
