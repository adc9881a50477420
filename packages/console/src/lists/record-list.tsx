/** The list that every kind of record uses. */
import { Button, Group, Pagination, Paper, Stack, Text } from "@mantine/core";
import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { mostInPart, type PageOf } from "../app/api.ts";
import { PageHead } from "../app/page-head.tsx";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { EmptyState } from "../records/empty-list.tsx";
import { BulkBar, usePermittedActions } from "./bulk-actions.tsx";
import { ListControls } from "./list-controls.tsx";
import type { ListDefinition, ListState } from "./list-definition.ts";
import { ListOptions } from "./list-options.tsx";
import { useListPreferences } from "./list-preferences.ts";
import { pageOf, queryOf } from "./list-rows.ts";
import { useListState } from "./list-state.ts";
import { ListTable } from "./list-table.tsx";
import { ListViews } from "./list-views.tsx";
import { PeekPanel } from "./peek-panel.tsx";
import { useSelection } from "./selection.ts";

interface RecordListProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  /** Buttons next to the title. */
  readonly actions?: ReactNode;
  /** Present if the list is a page. */
  readonly title?: string;
  /** A remark on the rows, below the title. */
  readonly note?: ReactNode;
  /** The way back to another page. */
  readonly trail?: ReactNode;
  /** The field of a filter that the title states. */
  readonly stated?: string | undefined;
  /** The accessible name of a list inside a page. */
  readonly label?: string;
}

interface EmptyListProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  readonly isPart: boolean;
}

export function RecordList<Row extends { readonly id: string }>(props: RecordListProps<Row>) {
  const { definition, actions, title, note, trail, stated, label = title ?? "" } = props;
  const fields = useMemo(() => definition.filters?.map(({ field }) => field) ?? [], [definition]);
  const [preferences, changePreferences] = useListPreferences(listKey(definition.source.path));
  const { state, change } = useListState(fields, definition.defaultSort, preferences.size);
  const { page, error, isPlaceholderData, refetch, sort } = useRows(definition, state);
  const selection = useSelection<Row>();
  const bulk = usePermittedActions(definition);
  const [peeked, setPeeked] = useState<Row>();
  useEffect(() => {
    if (title !== undefined) document.title = t("common.documentTitle", { title });
  }, [title]);
  const isFiltered = state.text !== "" || Object.keys(state.filters).length > 0;
  const pages = page === undefined ? 1 : Math.max(1, Math.ceil(page.total / state.size));
  const [first, ...others] = definition.columns;
  const columns = first === undefined ? [] : [first, ...others.filter(({ key }) => !preferences.hidden.includes(key))];
  const isEmpty = page !== undefined && page.total === 0;
  return (
    <Stack>
      {trail}
      {title !== undefined && (
        <PageHead
          title={title}
          actions={
            <Group gap="xs" className="actions" {...(isEmpty && !isFiltered ? { "data-empty": true } : {})}>
              {actions}
            </Group>
          }
        >
          {isEmpty && !isFiltered ? undefined : note}
        </PageHead>
      )}
      {!(isEmpty && !isFiltered) && (
        <ListControls definition={definition} state={state} change={change} stated={stated}>
          <ListViews
            path={definition.source.path}
            fields={fields}
            state={state}
            preferences={preferences}
            apply={(search, next) => {
              changePreferences(next);
              change(search);
            }}
          />
          <ListOptions
            definition={definition}
            state={state}
            preferences={preferences}
            change={(next) => {
              changePreferences(next);
              if (next.size !== undefined) change({}, true);
            }}
          />
        </ListControls>
      )}
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : isEmpty ? (
        isFiltered ? (
          <NoMatch
            noun={definition.noun}
            helps={(definition.filters ?? []).flatMap(({ field, help }) =>
              state.filters[field] === undefined ? [] : (help ?? []),
            )}
            clear={() => change(cleared(fields))}
          />
        ) : (
          <EmptyList definition={definition} isPart={title === undefined} />
        )
      ) : (
        <>
          <ListTable
            label={label}
            columns={columns}
            page={page}
            isStale={isPlaceholderData}
            sort={sort}
            sortBy={(sort) => change({ sort })}
            density={preferences.density}
            selection={bulk.length === 0 ? undefined : selection}
            peek={setPeeked}
            peeked={peeked?.id}
          />
          <Group justify="space-between">
            <Text size="sm" c="dimmed" aria-live="polite">
              {page === undefined ? t("common.loading") : rangeText(state, page.total, definition.noun)}
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
      {/* After the rows, in the order in which it appears on the screen. */}
      <BulkBar
        definition={definition}
        actions={bulk}
        state={state}
        selection={selection}
        total={page?.total ?? 0}
        isFiltered={isFiltered}
      />
      {peeked !== undefined && (
        <PeekPanel definition={definition} rows={page?.data ?? []} row={peeked} show={setPeeked} />
      )}
    </Stack>
  );
}

function EmptyList<Row extends { readonly id: string }>({ definition, isPart }: EmptyListProps<Row>) {
  const { empty, source } = definition;
  return isPart ? (
    <EmptyState empty={empty} isPart />
  ) : (
    <EmptyState empty={empty} kind={source.path.split("/").at(-1)} />
  );
}

/** The path of the list without ids, so that the lists of all records of a kind share their preferences. */
function listKey(path: string): string {
  return path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}");
}

function cleared(fields: readonly string[]): Record<string, undefined> {
  return Object.fromEntries(["q", ...fields].map((field) => [field, undefined]));
}

function useRows<Row extends { readonly id: string }>(definition: ListDefinition<Row>, state: ListState) {
  const { source, refreshMs } = definition;
  const part = usePart(definition, state);
  const isPart = part.page !== undefined;
  const query = source.kind === "paged" ? queryOf(definition, state) : undefined;
  const result = useQuery<PageOf<Row> | readonly Row[]>({
    queryKey: [source.path, "list", query],
    queryFn: ({ signal }) => (source.kind === "paged" ? source.read(query ?? {}, signal) : source.read(signal)),
    placeholderData: keepPreviousData,
    enabled: !part.isPending && !isPart,
    ...(refreshMs === undefined ? {} : { refetchInterval: refreshMs }),
  });
  const { data, error, isPlaceholderData, refetch } = result;
  const page = useMemo((): PageOf<Row> | undefined => {
    if (data === undefined || isPage(data)) return data;
    return pageOf(data, definition, state);
  }, [data, definition, state]);
  return isPart ? part : { page, error, isPlaceholderData, refetch, sort: state.sort };
}

/**
 * The page of a list that the server sends in parts. A short list comes completely in one part. The page of a long list
 * is undefined if the list is searched, filtered or sorted, which needs the whole list.
 */
function usePart<Row extends { readonly id: string }>(definition: ListDefinition<Row>, state: ListState) {
  const { source } = definition;
  const readPart = source.kind === "whole" ? source.readPart : undefined;
  const first = (state.page - 1) * state.size;
  // A multiple of every page size, so that a page never lies in two parts.
  const offset = Math.floor(first / mostInPart) * mostInPart;
  const { data, error, isPlaceholderData, isPending, refetch } = useQuery({
    queryKey: [source.path, "part", offset],
    queryFn: readPart === undefined ? skipToken : ({ signal }) => readPart({ limit: mostInPart, offset }, signal),
    placeholderData: keepPreviousData,
  });
  const isShort = data !== undefined && data.total <= mostInPart && offset === 0;
  const sort = state.sort === "" && isShort ? (definition.shortSort ?? "") : state.sort;
  const isAsSent = state.text === "" && state.sort === "" && Object.keys(state.filters).length === 0;
  const page = useMemo((): PageOf<Row> | undefined => {
    if (data === undefined) return undefined;
    if (isShort) return pageOf(data.data, definition, { ...state, sort });
    return isAsSent
      ? { data: data.data.slice(first - offset, first - offset + state.size), total: data.total }
      : undefined;
  }, [data, definition, state, first, offset, isAsSent, isShort, sort]);
  const isWaiting = readPart !== undefined && isPending && error === null;
  return { page, error, isPlaceholderData, isPending: isWaiting, refetch, sort };
}

function isPage<Row>(data: PageOf<Row> | readonly Row[]): data is PageOf<Row> {
  return !Array.isArray(data);
}

interface NoMatchProps {
  readonly noun: string;
  /** The meanings of the filters in use. */
  readonly helps: readonly string[];
  readonly clear: () => void;
}

function NoMatch({ noun, helps, clear }: NoMatchProps) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs">
        <Text fw={600}>{t("lists.noMatch.title", { noun })}</Text>
        <Text c="dimmed" ta="center" maw={480}>
          {t("lists.noMatch.text")}
        </Text>
        {helps.map((help) => (
          <Text key={help} c="dimmed" ta="center" maw={480}>
            {help}
          </Text>
        ))}
        <Button variant="default" onClick={clear}>
          {t("lists.showAll", { noun })}
        </Button>
      </Stack>
    </Paper>
  );
}

function rangeText({ page, size }: ListState, total: number, noun: string): string {
  const first = (page - 1) * size + 1;
  const last = Math.min(page * size, total);
  if (first > total) return t("lists.noMoreResults");
  const isWhole = first === 1 && last === total;
  return isWhole ? t("lists.results", { count: total }) : t("lists.range", { first, last, total, noun });
}
