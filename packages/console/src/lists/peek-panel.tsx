/** A row in a panel at the side, without leaving the list. */
import { Button, Drawer, Group } from "@mantine/core";
import { useRef } from "react";
import { useScrollLock } from "../app/scroll-lock.ts";
import { t } from "../messages/i18n.ts";
import { Facts } from "../records/record-page.tsx";
import type { Column } from "./list-definition.ts";

interface PeekPanelProps<Row extends { readonly id: string }> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly row: Row;
  readonly show: (row: Row | undefined) => void;
}

export function PeekPanel<Row extends { readonly id: string }>({ columns, rows, row, show }: PeekPanelProps<Row>) {
  useScrollLock();
  const index = rows.findIndex(({ id }) => id === row.id);
  const step = (by: number) => {
    const next = rows[index + by];
    if (next !== undefined) show(next);
  };
  const [main, ...others] = columns;
  const title = useRef<HTMLSpanElement>(null);
  return (
    <Drawer
      opened
      lockScroll={false}
      onClose={() => show(undefined)}
      position="right"
      size="md"
      className="peek-panel"
      title={<span ref={title}>{main?.cell(row)}</span>}
      attributes={{ header: { role: "presentation" } }}
      closeButtonProps={{ "aria-label": t("common.close"), ...{ "data-autofocus": true } }}
    >
      <Facts
        facts={others
          .filter(({ isAction }) => isAction !== true)
          .map(({ title: label, cell }) => ({ label, value: cell(row) }))}
      />
      <Group className="form-actions" justify="space-between">
        <Group gap="xs">
          <Button variant="default" disabled={index <= 0} onClick={() => step(-1)}>
            {t("lists.peek.previous")}
          </Button>
          <Button variant="default" disabled={index === rows.length - 1} onClick={() => step(1)}>
            {t("lists.peek.next")}
          </Button>
        </Group>
        {/* Follows the link of the title. Records without a page have none. */}
        <Button className="open-record" onClick={() => title.current?.querySelector("a")?.click()}>
          {t("lists.peek.openRecord")}
        </Button>
      </Group>
    </Drawer>
  );
}
