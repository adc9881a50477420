/** The search and the filters of a list. */
import { Button, Chip, Group, Select, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { Search } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { usePermission } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import { DateTimeField } from "../records/date-time-field.tsx";
import { RecordSelect } from "../records/record-select.tsx";
import type { Filter, ListDefinition, ListState } from "./list-definition.ts";
import type { useListState } from "./list-state.ts";

type ChangeList = ReturnType<typeof useListState>["change"];

interface ListControlsProps<Row extends { readonly id: string }> {
  readonly definition: ListDefinition<Row>;
  readonly state: ListState;
  readonly change: ChangeList;
  /** A filter that the title of the page states. Its use alone does not show the advanced filters. */
  readonly stated?: string | undefined;
  /** At the end of the line. */
  readonly children: ReactNode;
}

export function ListControls<Row extends { readonly id: string }>(props: ListControlsProps<Row>) {
  const { definition, state, change, stated, children } = props;
  const { search, filters = [] } = definition;
  const [text, setText] = useState(state.text);
  const applyText = useDebouncedCallback((next: string) => change({ q: next === "" ? undefined : next }, true), 250);
  // The back button changes the address, and so the text of the field.
  useEffect(() => setText(state.text), [state.text]);
  const advanced = filters.filter(({ isAdvanced }) => isAdvanced === true);
  const [showsAdvanced, setShowsAdvanced] = useState(false);
  const isAdvancedUsed = advanced.some(({ field }) => field !== stated && state.filters[field] !== undefined);
  const shown = showsAdvanced || isAdvancedUsed ? filters : filters.filter(({ isAdvanced }) => isAdvanced !== true);
  return (
    <Group align="flex-end" justify="space-between" gap="sm" wrap="nowrap" className="list-controls">
      <Group align="center" gap="sm" flex={1} className="list-filters">
        {search !== undefined && (
          <TextInput
            type="search"
            aria-label={formatSearch(search.label)}
            placeholder={formatSearch(search.label)}
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
      <Group gap="xs" wrap="nowrap">
        {children}
      </Group>
    </Group>
  );
}

/** Such as "Search by name or URL". */
function formatSearch(label: string): string {
  return t("lists.searchBy", { field: `${label.slice(0, 1).toLowerCase()}${label.slice(1)}` });
}

interface FilterInputProps<Row> {
  readonly filter: Filter<Row>;
  /** Empty for none. */
  readonly value: string;
  readonly apply: (value: string) => void;
}

function FilterInput<Row>({ filter, value, apply }: FilterInputProps<Row>) {
  const { kind = "choice", title, help, options = [] } = filter;
  const explained = help === undefined ? {} : { title: help, "aria-description": help };
  const [canReadUsers, canReadGroups] = [usePermission("users:read"), usePermission("groups:read")];
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  if (kind === "switch") {
    return (
      <Chip
        data-reads
        size="sm"
        radius="xl"
        variant="outline"
        checked={value !== ""}
        onChange={(on) => apply(on ? "1" : "")}
        {...explained}
      >
        {title}
      </Chip>
    );
  }
  if (kind === "chips") {
    return (
      <Group gap={6} role="group" aria-label={title} className="chips">
        <Text size="sm" c="dimmed" aria-hidden>
          {title}
        </Text>
        {options.map((option) => (
          <Chip
            key={option.value}
            data-reads
            size="sm"
            radius="xl"
            variant="outline"
            checked={value === option.value}
            onChange={(on) => apply(on ? option.value : "")}
            // An option with its own query does not continue the title.
            {...(option.query === undefined
              ? { "aria-label": t("lists.chip", { filter: title, option: option.label }) }
              : {})}
            {...explained}
          >
            {option.label}
          </Chip>
        ))}
      </Group>
    );
  }
  if (kind === "choice") {
    return (
      <Select
        aria-label={title}
        placeholder={title}
        data={[...options]}
        value={value === "" ? null : value}
        onChange={(next) => apply(next ?? "")}
        clearable
        clearButtonProps={{
          "aria-label": t("lists.clearFilter", { filter: title.toLowerCase() }),
          // Mantine hides the button from screen readers, but this button can be focused.
          "aria-hidden": false,
          tabIndex: 0,
        }}
        miw={130}
      />
    );
  }
  if (kind === "user" || kind === "group") {
    return (
      (kind === "user" ? canReadUsers : canReadGroups) && (
        <RecordSelect
          path={kind === "user" ? "/tenants/users" : "/tenants/groups"}
          label={title}
          isLabelHidden
          placeholder={title}
          value={value}
          onChange={apply}
          {...(kind === "user" ? { className: "list-user" } : {})}
        />
      )
    );
  }
  if (kind === "date-time") {
    return (
      <DateTimeField
        aria-label={title}
        placeholder={t("lists.anyTime")}
        leftSection={
          <Text size="sm" c="dimmed">
            {title}
          </Text>
        }
        leftSectionWidth={58}
        value={value}
        onChange={apply}
        w={{ base: "100%", xs: 250 }}
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
      className="list-text"
      w={{ base: "100%", xs: kind === "text" ? 270 : 170 }}
    />
  );
}
