/**
 * The table of a list. A click on a row opens its record; the space bar shows the row in a side panel. A narrow screen
 * shows each row as a card (lists.css).
 */
import { ActionIcon, Checkbox, Paper, Skeleton, Table, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { ArrowDown, ArrowUp, ChevronsUpDown, PanelRightOpen } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, useEffect, useRef } from "react";
import type { PageOf } from "../app/api.ts";
import { t } from "../messages/i18n.ts";
import { type Column, labelOf, sortKey } from "./list-definition.ts";
import type { ListPreferences } from "./list-preferences.ts";
import type { Selection } from "./selection.ts";

interface ListTableProps<Row extends { readonly id: string }> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined while the rows load. */
  readonly page: PageOf<Row> | undefined;
  readonly isStale: boolean;
  readonly sort: string;
  readonly sortBy: (sort: string) => void;
  readonly density: ListPreferences["density"];
  /** Undefined if rows cannot be selected. */
  readonly selection: Selection<Row> | undefined;
  readonly peek: (row: Row) => void;
  /** Id of the row that the side panel shows. */
  readonly peeked: string | undefined;
}

export function ListTable<Row extends { readonly id: string }>(props: ListTableProps<Row>) {
  const { label, columns, page, isStale, sort, sortBy, density, selection, peek, peeked } = props;
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    if (peeked !== undefined) body.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [peeked]);
  return (
    <Paper withBorder style={{ overflow: "hidden", opacity: isStale ? 0.6 : 1 }}>
      <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} role="region" aria-label={label}>
        <Table
          className="record-table record-list"
          highlightOnHover
          aria-busy={page === undefined}
          verticalSpacing={density === "compact" ? 3 : 7}
          data-density={density}
        >
          <Table.Thead>
            <Table.Tr data-sort-by={columns.some(isSortable) ? t("lists.sortBy") : undefined}>
              {selection !== undefined && (
                <Table.Th w={36}>
                  <Checkbox
                    size="xs"
                    aria-label={t("lists.select.page")}
                    checked={
                      page !== undefined && page.data.length > 0 && page.data.every(({ id }) => selection.has(id))
                    }
                    indeterminate={
                      page?.data.some(({ id }) => selection.has(id)) === true &&
                      !page.data.every(({ id }) => selection.has(id))
                    }
                    onChange={({ currentTarget }) => selection.set(page?.data ?? [], currentTarget.checked)}
                  />
                </Table.Th>
              )}
              {columns.filter(isFact).map((column) => (
                <Heading key={column.key} column={column} sort={sort} sortBy={sortBy} />
              ))}
              <Table.Th className="peek-head" visibleFrom="sm">
                <VisuallyHidden>{t("lists.peek.column")}</VisuallyHidden>
              </Table.Th>
              {columns.filter(isAction).map((column) => (
                <Table.Th key={column.key} {...placeOf(column)}>
                  <VisuallyHidden>{column.title}</VisuallyHidden>
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody ref={body}>
            {page === undefined ? (
              <SkeletonRows columns={columns} selectable={selection !== undefined} />
            ) : (
              page.data.map((row) => (
                <Table.Tr
                  key={row.id}
                  data-selected={selection?.has(row.id) === true || undefined}
                  aria-current={row.id === peeked || undefined}
                  onClick={openRecord}
                  onKeyDown={(event) => peekBySpace(event, () => peek(row))}
                >
                  {selection !== undefined && (
                    <Table.Td>
                      <Checkbox
                        size="xs"
                        aria-label={t("lists.select.row", { name: labelOf(row) })}
                        checked={selection.has(row.id)}
                        onChange={({ currentTarget }) => selection.set([row], currentTarget.checked)}
                      />
                    </Table.Td>
                  )}
                  {columns.filter(isFact).map((column, index) => (
                    <Table.Td
                      key={column.key}
                      data-main={index === 0 || undefined}
                      {...placeOf(column)}
                      {...(column.isBelow === true ? { "data-label": column.cardTitle ?? column.title } : {})}
                    >
                      {column.cell(row)}
                    </Table.Td>
                  ))}
                  <Table.Td visibleFrom="sm">
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      size="sm"
                      className="peek"
                      aria-label={t("lists.peek.open", { name: labelOf(row) })}
                      onClick={() => peek(row)}
                    >
                      <PanelRightOpen size={15} aria-hidden />
                    </ActionIcon>
                  </Table.Td>
                  {columns.filter(isAction).map((column) => (
                    <Table.Td key={column.key} className="row-actions" {...placeOf(column)}>
                      {column.cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))
            )}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function mainLink(row: HTMLTableRowElement): HTMLAnchorElement | null {
  return row.querySelector<HTMLAnchorElement>("td a[href]");
}

/**
 * Follows the first link of the row, which is its record, with the modifier keys of the click, unless the click was
 * meant for something else.
 */
function openRecord(event: MouseEvent<HTMLTableRowElement>): void {
  const { target, currentTarget, ctrlKey, metaKey, shiftKey } = event;
  if (!(target instanceof Element) || target.closest("a, button, input, label") !== null) return;
  if ((globalThis.getSelection()?.toString() ?? "") !== "") return;
  const click = { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey };
  mainLink(currentTarget)?.dispatchEvent(new globalThis.MouseEvent("click", click));
}

function peekBySpace(event: KeyboardEvent<HTMLTableRowElement>, peek: () => void): void {
  if (event.key !== " " || event.target !== mainLink(event.currentTarget)) return;
  // The space bar would scroll the page.
  event.preventDefault();
  peek();
}

/** The attributes by which lists.css places the cells of a column. */
function placeOf<Row>({ isBelow, visibleFrom }: Column<Row>) {
  if (isBelow === true) return { "data-below": visibleFrom ?? "" };
  return visibleFrom === undefined ? {} : { visibleFrom };
}

/** Whether the cells hold buttons, which stand at the end of the row. */
function isAction<Row>(column: Column<Row>): boolean {
  return column.isAction === true;
}

function isFact<Row>(column: Column<Row>): boolean {
  return !isAction(column);
}

function isSortable<Row>(column: Column<Row>): boolean {
  return sortKey(column) !== undefined;
}

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string;
  readonly sortBy: (sort: string) => void;
}

function Heading<Row>({ column, sort, sortBy }: HeadingProps<Row>) {
  const key = sortKey(column);
  const visible = placeOf(column);
  if (key === undefined) return <Table.Th {...visible}>{column.title}</Table.Th>;
  const direction = sort === key ? "ascending" : sort === `-${key}` ? "descending" : "none";
  const Arrow = direction === "ascending" ? ArrowUp : direction === "descending" ? ArrowDown : ChevronsUpDown;
  return (
    <Table.Th {...visible} aria-sort={direction}>
      <UnstyledButton className="sort" onClick={() => sortBy(direction === "ascending" ? `-${key}` : key)}>
        {column.title}
        <Arrow size={14} aria-hidden opacity={direction === "none" ? 0.5 : 1} />
      </UnstyledButton>
    </Table.Th>
  );
}

interface SkeletonRowsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly selectable: boolean;
}

function SkeletonRows<Row>({ columns, selectable }: SkeletonRowsProps<Row>) {
  return Array.from({ length: 8 }, (_, line) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: identical rows
    <Table.Tr key={line}>
      {selectable && <Table.Td />}
      {columns.map((column, index) => (
        <Table.Td key={column.key} {...placeOf(column)}>
          <Skeleton height={14} my={3} width={index === 0 ? "70%" : "50%"} />
          {line === 0 && index === 0 && <VisuallyHidden>{t("common.loading")}</VisuallyHidden>}
        </Table.Td>
      ))}
      <Table.Td visibleFrom="sm" />
    </Table.Tr>
  ));
}
