/** Selects the filter of the graph: a record that a policy refers to, or any user. */
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { usePermission } from "../../../app/session.ts";
import { t } from "../../../messages/i18n.ts";
import { choosesFound } from "../../../records/choose-found.ts";
import { findPaged } from "../../../records/record-picker.tsx";
import { byName, distinct } from "./graph-groups.ts";
import type { Leaf, Path } from "./graph-paths.ts";

const headings = [
  ["group", t("graph.kinds.group")],
  ["user", t("graph.kinds.user")],
  ["device", t("graph.kinds.device")],
  ["policy", t("graph.kinds.policy")],
  ["resource", t("graph.kinds.resource")],
  ["gateway", t("graph.kinds.gateway")],
  ["words", t("graph.kinds.words")],
] as const;
/** Options of each kind. Typing more of a name narrows the list. */
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
      aria-label={t("graph.focus.label")}
      placeholder={t("graph.focus.placeholder")}
      data={data}
      value={focus?.key ?? null}
      onChange={(key) => onChange(key ?? undefined)}
      searchable
      {...choosesFound}
      onSearchChange={setTyped}
      // The options are filtered above.
      filter={({ options }) => options}
      nothingFoundMessage={t("records.picker.noResults")}
      clearable
      clearButtonProps={{ "aria-label": t("graph.focus.clear") }}
      maxDropdownHeight={320}
      w={{ base: "100%", xs: 320 }}
    />
  );
}
