/** Selects one record by name. The server searches. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ListQuery } from "../app/api.ts";
import { t } from "../messages/i18n.ts";
import { choosesFound } from "./choose-found.ts";
import { findPaged, nameChosen, type PagedPath } from "./record-picker.tsx";

interface RecordSelectProps {
  readonly path: PagedPath;
  readonly label: string;
  /** Whether the label is only read aloud, because the sentence around the field names it. */
  readonly isLabelHidden?: boolean;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
  readonly className?: string;
  /** Filters, for example to the devices of one user. */
  readonly query?: ListQuery;
  /** A record id; empty for none. */
  readonly value: string;
  readonly onChange: (id: string) => void;
}

export function RecordSelect(props: RecordSelectProps) {
  const { path, label, isLabelHidden = false, query = {}, value, onChange, ...input } = props;
  const { placeholder = t("records.picker.placeholder") } = input;
  const [typed, setTyped] = useState("");
  const [search] = useDebouncedValue(typed, 200);
  const { data: chosen } = useQuery({
    queryKey: [path, "chosen", [value]],
    enabled: value !== "",
    queryFn: ({ signal }) => nameChosen(path, [value], signal),
  });
  const name = value === "" ? "" : chosen?.[0]?.name;
  // After a selection the field holds the name of the record, which is not a search term.
  const text = search === name ? "" : search;
  const { data: found = [] } = useQuery({
    queryKey: [path, "pick", text, query],
    enabled: input.disabled !== true,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findPaged(path, text, signal, query),
  });
  const options = new Map(found.map((record) => [record.id, record.name]));
  if (value !== "") options.set(value, name ?? options.get(value) ?? "…");
  return (
    <Select
      {...input}
      placeholder={placeholder}
      {...(isLabelHidden ? { "aria-label": label } : { label })}
      data={[...options].map(([id, label]) => ({ value: id, label }))}
      value={value === "" ? null : value}
      onChange={(id) => onChange(id ?? "")}
      searchable
      {...choosesFound}
      // A dialog that focuses this field must not open over its content. Clicks, arrow keys and typing open the list.
      openOnFocus={false}
      onSearchChange={setTyped}
      // The server has filtered already.
      filter={({ options: all }) => all}
      nothingFoundMessage={t("records.picker.noResults")}
      // A second choice of the same record keeps it. The button clears it.
      allowDeselect={false}
      clearable
      clearButtonProps={{ "aria-label": t("records.picker.clear", { field: label.toLowerCase() }) }}
      maxDropdownHeight={240}
    />
  );
}
