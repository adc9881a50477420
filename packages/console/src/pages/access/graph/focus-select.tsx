/** Finds what the graph is to be narrowed to: whatever policies name, and any user. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { usePermission } from "../../../app/session.ts";
import { findPaged } from "../../../records/record-picker.tsx";
import { byName, distinct } from "./graph-groups.ts";
import type { Leaf, Path } from "./graph-paths.ts";

const headings = [
  ["group", "Groups"],
  ["user", "Users"],
  ["device", "Devices"],
  ["policy", "Policies"],
  ["resource", "Resources"],
  ["gateway", "Gateways"],
  ["words", "All of a kind"],
] as const;
/** Of each kind; who does not see theirs types more of the name. */
const mostOfAKind = 8;

interface FocusSelectProps {
  readonly paths: readonly Path[];
  readonly gateways: readonly Leaf[];
  readonly focus: Leaf | undefined;
  readonly onChange: (key: string | undefined) => void;
}

export function FocusSelect({ paths, gateways, focus, onChange }: FocusSelectProps) {
  const canFindUsers = usePermission("users:read");
  const [typed, setTyped] = useState("");
  const [asked] = useDebouncedValue(typed, 200);
  const text = asked === focus?.name ? "" : asked.trim();
  const leaves = useMemo(() => {
    const named = paths.flatMap(({ policy, sources, resources }) => [policy, ...sources, ...resources]);
    return distinct([...named, ...gateways]).sort(byName);
  }, [paths, gateways]);
  const { data: users = [] } = useQuery({
    queryKey: ["/tenants/users", "pick", text, {}],
    enabled: canFindUsers && text !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findPaged("/tenants/users", text, signal),
  });
  const lower = text.toLowerCase();
  const found = leaves.filter(({ name }) => name.toLowerCase().includes(lower));
  const foundUsers = (text === "" ? [] : users).map(
    ({ id, name }): Leaf => ({ key: `user:${id}`, kind: "user", id, name }),
  );
  const all = distinct([...foundUsers, ...found]);
  const data = headings.flatMap(([kind, title]) => {
    const some = all.filter((leaf) => leaf.kind === kind).slice(0, mostOfAKind);
    const chosen = focus?.kind === kind && !some.some(({ key }) => key === focus.key) ? [focus] : [];
    const items = [...chosen, ...some].map(({ key, name }) => ({ value: key, label: name }));
    return items.length === 0 ? [] : [{ group: title, items }];
  });
  return (
    <Select
      aria-label="Only what leads through"
      placeholder="Find a user, group, policy, resource …"
      data={data}
      value={focus?.key ?? null}
      onChange={(key) => onChange(key ?? undefined)}
      searchable
      onSearchChange={setTyped}
      // It has been looked for already.
      filter={({ options }) => options}
      nothingFoundMessage="Nothing has that name"
      clearable
      clearButtonProps={{ "aria-label": "Show everything" }}
      maxDropdownHeight={320}
      w={{ base: "100%", xs: 320 }}
    />
  );
}
