/** Chooses records by name; of long lists, the server finds them. */
import { MultiSelect } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { paged, whole } from "../app/api.ts";

export type PickablePath = "/tenants/groups" | "/tenants/roles" | "/tenants/gateways" | "/tenants/protocols";

interface RecordPickerProps {
  readonly path: PickablePath;
  readonly label: string;
  readonly description?: string | undefined;
  readonly required?: boolean;
  readonly withAsterisk?: boolean;
  readonly error?: string | undefined;
  readonly value: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
}

interface Named {
  readonly id: string;
  readonly name: string;
  readonly type?: string;
}

async function find(path: PickablePath, text: string, signal: AbortSignal): Promise<readonly Named[]> {
  if (path !== "/tenants/groups") {
    const all: readonly Named[] = await whole(path).read(signal);
    // The owner's role is handed over, never given.
    return all.filter(({ type }) => path !== "/tenants/roles" || type !== "OWNER");
  }
  const query = text === "" ? {} : { "filter[name][ilike]": `%${text}%` };
  return (await paged(path).read({ ...query, sort: "name", limit: 50 }, signal)).data;
}

/** Names of records that were chosen, whatever is searched for now. */
function useChosen(path: PickablePath, ids: readonly string[]) {
  return useQuery({
    queryKey: [path, "chosen", ids],
    enabled: path === "/tenants/groups" && ids.length > 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (await paged("/tenants/groups").read({ "filter[id][in]": ids.slice(0, 100).join(","), limit: 100 }, signal)).data,
  });
}

export function RecordPicker({ path, value, onChange, ...input }: RecordPickerProps) {
  const [typed, setTyped] = useState("");
  const [asked] = useDebouncedValue(typed, 200);
  const { data: found = [] } = useQuery({
    queryKey: [path, "pick", path === "/tenants/groups" ? asked : ""],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => find(path, asked, signal),
  });
  const { data: chosen = [] } = useChosen(path, value);
  const names = new Map<string, string>([...found, ...chosen].map(({ id, name }) => [id, name]));
  for (const id of value) if (!names.has(id)) names.set(id, "…");
  return (
    <MultiSelect
      {...input}
      data={[...names].map(([id, label]) => ({ value: id, label }))}
      value={[...value]}
      onChange={onChange}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      nothingFoundMessage="Nothing has that name"
      placeholder={value.length === 0 ? "Choose …" : ""}
      hidePickedOptions
      maxDropdownHeight={240}
    />
  );
}
