/** The list that every kind of record uses. */
import {
  Button,
  Group,
  Pagination,
  Paper,
  Select,
  Skeleton,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
  UnstyledButton,
  VisuallyHidden,
} from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ArrowDown, ArrowUp, ChevronsUpDown, Search } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { PageOf } from "../app/api.ts";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { fromLocalTime, toLocalTime } from "../records/local-time.ts";
import { type Column, type Filter, type ListDefinition, type ListState, pageSize, sortKey } from "./list-definition.ts";
import { pageOf, queryOf } from "./list-rows.ts";
import { useListState } from "./list-state.ts";

interface RecordListProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  /** Buttons next to the title. */
  readonly actions?: ReactNode;
  /** Present if the list is a page. */
  readonly title?: string;
  /** The accessible name of a list inside a page. */
  readonly label?: string;
}

export function RecordList<Row extends { readonly id: string }>(props: RecordListProps<Row>) {
  const { definition, actions, title, label = title ?? "" } = props;
  const fields = useMemo(() => definition.filters?.map(({ field }) => field) ?? [], [definition]);
  const { state, change } = useListState(fields, definition.defaultSort);
  const { page, error, isPlaceholderData, refetch } = useRows(definition, state);
  useEffect(() => {
    if (title !== undefined) document.title = t("common.documentTitle", { title });
  }, [title]);
  const isFiltered = state.text !== "" || Object.keys(state.filters).length > 0;
  const pages = page === undefined ? 1 : Math.max(1, Math.ceil(page.total / pageSize));
  return (
    <Stack>
      {title !== undefined && (
        <Group justify="space-between">
          <Title order={1}>{title}</Title>
          <Group gap="xs" className="actions">
            {actions}
          </Group>
        </Group>
      )}
      <ListControls definition={definition} state={state} change={change} />
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : page !== undefined && page.total === 0 ? (
        <EmptyState definition={definition} isFiltered={isFiltered} clear={() => change(cleared(fields))} />
      ) : (
        <>
          <Paper withBorder style={{ overflow: "hidden", opacity: isPlaceholderData ? 0.6 : 1 }}>
            <Table.ScrollContainer
              minWidth={0}
              type="native"
              scrollAreaProps={{ tabIndex: 0, role: "region", "aria-label": label }}
            >
              <Table className="record-table" highlightOnHover verticalSpacing="sm" aria-busy={page === undefined}>
                <Table.Thead>
                  <Table.Tr>
                    {definition.columns.map((column) => (
                      <Heading key={column.key} column={column} sort={state.sort} sortBy={(sort) => change({ sort })} />
                    ))}
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {page === undefined ? (
                    <SkeletonRows columns={definition.columns} />
                  ) : (
                    page.data.map((row) => (
                      <Table.Tr key={row.id}>
                        {definition.columns.map(({ key, cell, visibleFrom }) => (
                          <Table.Td key={key} {...(visibleFrom === undefined ? {} : { visibleFrom })}>
                            {cell(row)}
                          </Table.Td>
                        ))}
                      </Table.Tr>
                    ))
                  )}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          </Paper>
          <Group justify="space-between">
            <Text size="sm" c="dimmed" aria-live="polite">
              {page === undefined ? t("common.loading") : rangeText(state.page, page.total, definition.noun)}
            </Text>
            {pages > 1 && (
              <Pagination
                total={pages}
                value={Math.min(state.page, pages)}
                onChange={(next) => change({ page: next === 1 ? undefined : String(next) })}
                size="sm"
                siblings={1}
                getControlProps={(control) => ({ "aria-label": t(`lists.pages.${control}`) })}
                getItemProps={(number) => ({ "aria-label": t("lists.page", { number }) })}
              />
            )}
          </Group>
        </>
      )}
    </Stack>
  );
}

type Change = ReturnType<typeof useListState>["change"];

function cleared(fields: readonly string[]): Record<string, undefined> {
  return Object.fromEntries(["q", ...fields].map((field) => [field, undefined]));
}

function useRows<Row extends { readonly id: string }>(definition: ListDefinition<Row>, state: ListState) {
  const { source, refreshMs } = definition;
  const query = source.kind === "paged" ? queryOf(definition, state) : undefined;
  const result = useQuery<PageOf<Row> | readonly Row[]>({
    queryKey: [source.path, "list", query],
    queryFn: ({ signal }) => (source.kind === "paged" ? source.read(query ?? {}, signal) : source.read(signal)),
    placeholderData: keepPreviousData,
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs }),
  });
  const { data, error, isPlaceholderData, refetch } = result;
  const page = useMemo((): PageOf<Row> | undefined => {
    if (data === undefined || isPage(data)) return data;
    return pageOf(data, definition, state);
  }, [data, definition, state]);
  return { page, error, isPlaceholderData, refetch };
}

function isPage<Row>(data: PageOf<Row> | readonly Row[]): data is PageOf<Row> {
  return !Array.isArray(data);
}

interface ListControlsProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  readonly state: ListState;
  readonly change: Change;
}

function ListControls<Row extends { readonly id: string }>({ definition, state, change }: ListControlsProps<Row>) {
  const { search, filters = [] } = definition;
  const [text, setText] = useState(state.text);
  const applyText = useDebouncedCallback((next: string) => change({ q: next === "" ? undefined : next }, true), 250);
  // The back button changes the address, and so the text of the field.
  useEffect(() => setText(state.text), [state.text]);
  const advanced = filters.filter(({ isAdvanced }) => isAdvanced === true);
  const [showsAdvanced, setShowsAdvanced] = useState(false);
  const isAdvancedUsed = advanced.some(({ field }) => state.filters[field] !== undefined);
  if (search === undefined && filters.length === 0) return null;
  const shown = showsAdvanced || isAdvancedUsed ? filters : filters.filter(({ isAdvanced }) => isAdvanced !== true);
  return (
    <Group align="flex-end" gap="sm">
      {search !== undefined && (
        <TextInput
          type="search"
          aria-label={t("lists.searchBy", { field: search.label.toLowerCase() })}
          placeholder={search.label}
          leftSection={<Search size={16} aria-hidden />}
          value={text}
          onChange={({ currentTarget: { value } }) => {
            setText(value);
            applyText(value);
          }}
          w={{ base: "100%", xs: 260 }}
        />
      )}
      {shown.map((filter) => (
        <FilterInput
          key={filter.field}
          filter={filter}
          value={state.filters[filter.field] ?? ""}
          apply={(value) => change({ [filter.field]: value === "" ? undefined : value })}
        />
      ))}
      {advanced.length > 0 && !isAdvancedUsed && (
        <Button variant="default" aria-expanded={showsAdvanced} onClick={() => setShowsAdvanced(!showsAdvanced)}>
          {showsAdvanced ? t("lists.fewerFilters") : t("lists.moreFilters")}
        </Button>
      )}
    </Group>
  );
}

interface FilterInputProps<Row> {
  readonly filter: Filter<Row>;
  /** Empty for none. */
  readonly value: string;
  readonly apply: (value: string) => void;
}

function FilterInput<Row>({ filter, value, apply }: FilterInputProps<Row>) {
  const { kind = "choice", title, options = [] } = filter;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  if (kind === "choice") {
    return (
      <Select
        aria-label={title}
        placeholder={title}
        data={[...options]}
        value={value === "" ? null : value}
        onChange={(next) => apply(next ?? "")}
        clearable
        clearButtonProps={{ "aria-label": t("lists.clearFilter", { filter: title.toLowerCase() }), tabIndex: 0 }}
        style={{ flex: "0 1 170px" }}
        miw={130}
      />
    );
  }
  if (kind === "date-time") {
    return (
      <TextInput
        type="datetime-local"
        aria-label={title}
        leftSection={
          <Text size="sm" c="dimmed">
            {title}
          </Text>
        }
        leftSectionWidth={58}
        value={toLocalTime(value)}
        onChange={({ currentTarget }) => apply(fromLocalTime(currentTarget.value))}
        w={{ base: "100%", xs: 270 }}
      />
    );
  }
  // Applies on Enter or blur, since a partial id matches nothing.
  return (
    <TextInput
      aria-label={title}
      placeholder={title}
      value={typed}
      maxLength={200}
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      onBlur={() => {
        if (typed.trim() !== value) apply(typed.trim());
      }}
      onKeyDown={({ key }) => {
        if (key === "Enter") apply(typed.trim());
      }}
      w={{ base: "100%", xs: kind === "text" ? 270 : 170 }}
    />
  );
}

interface HeadingProps<Row> {
  readonly column: Column<Row>;
  readonly sort: string;
  readonly sortBy: (sort: string) => void;
}

function Heading<Row>({ column, sort, sortBy }: HeadingProps<Row>) {
  const key = sortKey(column);
  const visible = column.visibleFrom === undefined ? {} : { visibleFrom: column.visibleFrom };
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

function SkeletonRows<Row>({ columns }: { readonly columns: readonly Column<Row>[] }) {
  return Array.from({ length: 8 }, (_, line) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: identical rows
    <Table.Tr key={line}>
      {columns.map(({ key, visibleFrom }, index) => (
        <Table.Td key={key} {...(visibleFrom === undefined ? {} : { visibleFrom })}>
          <Skeleton height={14} my={4} width={index === 0 ? "70%" : "50%"} />
          {line === 0 && index === 0 && <VisuallyHidden>{t("common.loading")}</VisuallyHidden>}
        </Table.Td>
      ))}
    </Table.Tr>
  ));
}

interface EmptyStateProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  readonly isFiltered: boolean;
  readonly clear: () => void;
}

function EmptyState<Row extends { readonly id: string }>({
  definition: { empty, noun },
  isFiltered,
  clear,
}: EmptyStateProps<Row>) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs">
        <Text fw={600}>{isFiltered ? t("lists.noMatch.title", { noun }) : empty.title}</Text>
        <Text c="dimmed" ta="center" maw={480}>
          {isFiltered ? t("lists.noMatch.text") : empty.text}
        </Text>
        {isFiltered && (
          <Button variant="default" onClick={clear}>
            {t("lists.showAll", { noun })}
          </Button>
        )}
      </Stack>
    </Paper>
  );
}

function rangeText(page: number, total: number, noun: string): string {
  const first = (page - 1) * pageSize + 1;
  const last = Math.min(page * pageSize, total);
  return first > total ? t("lists.noMoreResults") : t("lists.range", { first, last, total, noun });
}
