/** Selects records by name. The server searches lists that it pages. */
import { MultiSelect } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { type ListQuery, paged, whole } from "../app/api.ts";
import { containsPattern } from "../app/like-pattern.ts";
import { compareText } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { choosesFound } from "./choose-found.ts";

/** Lists that the server pages, with the field that names their records. */
const pagedLists = {
  "/tenants/groups": "name",
  "/tenants/users": "email",
  "/tenants/devices": "name",
  "/tenants/resources": "name",
} as const;
export type PagedPath = keyof typeof pagedLists;
export type PickablePath = PagedPath | "/tenants/roles" | "/tenants/gateways" | "/tenants/protocols";

interface RecordPickerProps {
  readonly path: PickablePath;
  readonly label: string;
  readonly description?: ReactNode;
  readonly required?: boolean;
  readonly withAsterisk?: boolean;
  readonly error?: string | undefined;
  readonly value: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
  /** Offers to create a record with the typed name. Returns the label of this choice. */
  readonly createLabel?: ((name: string) => string) | undefined;
}

const newPrefix = "new:";

/** The name of a chosen record that does not exist yet; undefined for the id of a record. */
export function nameOfNew(value: string): string | undefined {
  return value.startsWith(newPrefix) ? value.slice(newPrefix.length) : undefined;
}

export interface Named {
  readonly id: string;
  readonly name: string;
  readonly type?: string;
}

function isPaged(path: PickablePath): path is PagedPath {
  return path in pagedLists;
}

/** @param query filters in addition to the text */
export async function findPaged(
  path: PagedPath,
  text: string,
  signal: AbortSignal,
  query: ListQuery = {},
): Promise<readonly Named[]> {
  const field = pagedLists[path];
  const search = text === "" ? {} : { [`filter[${field}][ilike]`]: containsPattern(text) };
  return namedOf((await paged(path).read({ ...query, ...search, sort: field, limit: 50 }, signal)).data);
}

/** The names of selected records, regardless of the current search. Reads at most 100. */
export async function nameChosen(path: PagedPath, ids: readonly string[], signal: AbortSignal) {
  return namedOf((await paged(path).read({ "filter[id][in]": ids.slice(0, 100).join(","), limit: 100 }, signal)).data);
}

function namedOf(rows: readonly { readonly id: string; readonly name?: string; readonly email?: string }[]) {
  return rows.map(({ id, name, email }): Named => ({ id, name: name ?? email ?? id }));
}

async function find(path: PickablePath, text: string, signal: AbortSignal): Promise<readonly Named[]> {
  if (isPaged(path)) return findPaged(path, text, signal);
  const all: readonly Named[] = await whole(path).read(signal);
  // The owner role can only be transferred, not assigned.
  return all.filter(({ type }) => path !== "/tenants/roles" || type !== "OWNER");
}

/** The names of chosen records and of new ones, in alphabetical order. Undefined until they are known. */
export function useNamesOf(path: PagedPath | "/tenants/roles", chosen: readonly string[]) {
  const ids = chosen.filter((each) => nameOfNew(each) === undefined);
  const { data } = useQuery({
    queryKey: [path, "names", ids],
    enabled: ids.length > 0,
    queryFn: async ({ signal }) => {
      if (isPaged(path)) return nameChosen(path, ids, signal);
      return namedOf(await whole(path).read(signal)).filter(({ id }) => ids.includes(id));
    },
  });
  if (ids.length === 0) return [];
  return data?.map(({ name }) => name).sort(compareText);
}

function useChosen(path: PickablePath, ids: readonly string[]) {
  return useQuery({
    queryKey: [path, "chosen", ids],
    enabled: isPaged(path) && ids.length > 0,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => (isPaged(path) ? nameChosen(path, ids, signal) : []),
  });
}

export function RecordPicker({ path, value, onChange, createLabel, ...input }: RecordPickerProps) {
  const [typed, setTyped] = useState("");
  /** The text with which the focus left the field, until the server has answered. */
  const [left, setLeft] = useState("");
  const text = left === "" ? typed : left;
  const [query] = useDebouncedValue(text, 200);
  const {
    data: found = [],
    isPlaceholderData,
    isPending,
  } = useQuery({
    queryKey: [path, "pick", isPaged(path) ? query : ""],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => find(path, query, signal),
  });
  const ids = value.filter((each) => nameOfNew(each) === undefined);
  const { data: chosen = [] } = useChosen(path, ids);
  const names = new Map<string, string>([...found, ...chosen].map(({ id, name }) => [id, name]));
  for (const each of value) if (!names.has(each)) names.set(each, nameOfNew(each) ?? "…");
  const wanted = text.trim();
  // Only an answer to exactly this text tells whether the name is free.
  const isAnswered = text === query && !isPlaceholderData && !isPending;
  const isTaken = [...names.values()].some((name) => name.toLowerCase() === wanted.toLowerCase());
  if (createLabel !== undefined && wanted !== "" && isAnswered && !isTaken) {
    names.set(`${newPrefix}${wanted}`, createLabel(wanted));
  }
  const lower = wanted.toLowerCase();
  const [typedId] =
    [...names].find(([id, name]) => name.toLowerCase() === lower || nameOfNew(id)?.toLowerCase() === lower) ?? [];
  /** The name that was typed counts without a choice from the list. */
  const chooseTyped = () => {
    if (wanted === "") return;
    if (typedId !== undefined) {
      if (!value.includes(typedId)) onChange([...value, typedId]);
    } else if (!isAnswered) setLeft(typed);
  };
  useEffect(() => {
    if (left === "" || !isAnswered) return;
    setLeft("");
    chooseTyped();
  });
  return (
    <MultiSelect
      {...input}
      data={[...names].map(([id, label]) => ({ value: id, label }))}
      value={[...value]}
      onChange={onChange}
      searchable
      {...choosesFound}
      // A dialog that focuses this field must not open over its content. Clicks, arrow keys and typing open the list.
      openOnFocus={false}
      searchValue={typed}
      onSearchChange={setTyped}
      onBlur={chooseTyped}
      nothingFoundMessage={t("records.picker.noResults")}
      placeholder={value.length === 0 ? t("records.picker.placeholder") : ""}
      hidePickedOptions
      maxDropdownHeight={240}
    />
  );
}
