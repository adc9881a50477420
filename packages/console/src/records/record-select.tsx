/** Chooses one record by name; the server finds it. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ListQuery } from "../app/api.ts";
import { findPaged, nameChosen, type PagedPath } from "./record-picker.tsx";

interface RecordSelectProps {
  readonly path: PagedPath;
  readonly label: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly error?: string | undefined;
  readonly disabled?: boolean;
  /** Filters: of whose devices, for example. */
  readonly query?: ListQuery;
  /** An id; empty for none. */
  readonly value: string;
  readonly onChange: (id: string) => void;
}

export function RecordSelect({ path, query = {}, value, onChange, ...input }: RecordSelectProps) {
  const [typed, setTyped] = useState("");
  const [asked] = useDebouncedValue(typed, 200);
  const { data: chosen } = useQuery({
    queryKey: [path, "chosen", [value]],
    enabled: value !== "",
    queryFn: ({ signal }) => nameChosen(path, [value], signal),
  });
  const name = value === "" ? "" : chosen?.[0]?.name;
  // Once something is chosen, the field holds its name, which is not what somebody looks for.
  const text = asked === name ? "" : asked;
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
      data={[...options].map(([id, label]) => ({ value: id, label }))}
      value={value === "" ? null : value}
      onChange={(id) => onChange(id ?? "")}
      searchable
      onSearchChange={setTyped}
      // The server has looked for it already.
      filter={({ options: all }) => all}
      nothingFoundMessage="Nothing has that name"
      clearable
      clearButtonProps={{ "aria-label": `No ${input.label.toLowerCase()}` }}
      maxDropdownHeight={240}
    />
  );
}
