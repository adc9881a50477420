/** A row in a panel at the side, without leaving the list. */
import { Button, Drawer, Group, Stack } from "@mantine/core";
import { useRef } from "react";
import { useScrollLock } from "../app/scroll-lock.ts";
import { t } from "../messages/i18n.ts";
import { type Fact, Facts } from "../records/record-page.tsx";
import { RelativeTime } from "../records/relative-time.tsx";
import type { ListDefinition } from "./list-definition.ts";

interface PeekPanelProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  readonly rows: readonly Row[];
  readonly row: Row;
  readonly show: (row: Row | undefined) => void;
}

export function PeekPanel<Row extends { readonly id: string }>({ definition, rows, row, show }: PeekPanelProps<Row>) {
  useScrollLock();
  const index = rows.findIndex(({ id }) => id === row.id);
  const step = (by: number) => {
    const next = rows[index + by];
    if (next !== undefined) show(next);
  };
  const { columns, details } = definition;
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
      // The list stays readable, with the current row.
      overlayProps={{ backgroundOpacity: 0.3 }}
      attributes={{ header: { role: "presentation" } }}
      closeButtonProps={{ "aria-label": t("common.close"), ...{ "data-autofocus": true } }}
    >
      <Stack>
        <Facts
          facts={[
            ...others
              .filter(({ isAction }) => isAction !== true)
              .map(({ title: label, cell }) => ({ label, value: cell(row) })),
            ...commonFacts(
              row,
              columns.map(({ key }) => key),
            ),
          ]}
        />
        {details?.(row)}
      </Stack>
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

/** The description and the times that most records have, unless a column shows them. */
function commonFacts(row: object, columns: readonly string[]): readonly Fact[] {
  // Records of other kinds lack these fields.
  const { description, createdAt, updatedAt } = row as Readonly<Record<string, unknown>>;
  return [
    ...(typeof description === "string" && description !== "" && !columns.includes("description")
      ? [{ label: t("common.description"), value: description }]
      : []),
    ...(typeof createdAt === "string" && !columns.includes("createdAt")
      ? [{ label: t("common.created"), value: <RelativeTime at={createdAt} /> }]
      : []),
    ...(typeof updatedAt === "string" && !columns.includes("updatedAt")
      ? [{ label: t("common.changed"), value: <RelativeTime at={updatedAt} /> }]
      : []),
  ];
}
