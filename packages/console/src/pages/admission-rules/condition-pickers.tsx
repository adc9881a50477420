/** Inputs of conditions that suggest what the tenant has: names of groups, of posture facts and of user attributes. */
import { Autocomplete, Combobox, Select, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Warning } from "../../app/warning.tsx";
import { capitalize } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { choosesFound } from "../../records/choose-found.ts";
import {
  countMet,
  isBoolean,
  isUnreported,
  mostCounted,
  namesIn,
  useFactRecords,
  usualPosture,
  valuesIn,
} from "../../records/fact-counts.ts";
import { formatFactLabel, formatFactValue } from "../../records/format-fact.ts";
import { findPaged } from "../../records/record-picker.tsx";
import type { Condition } from "../../records/rule-conditions.ts";

interface GroupNameProps {
  readonly value: string;
  readonly onChange: (name: string) => void;
}

/** A rule names a group, so only names of groups can be selected. */
export function GroupName({ value, onChange }: GroupNameProps) {
  const [typed, setTyped] = useState("");
  const [search] = useDebouncedValue(typed === value ? "" : typed, 200);
  const { data: found = [] } = useQuery({
    queryKey: ["/tenants/groups", "pick", search],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findPaged("/tenants/groups", search, signal),
  });
  const names = new Set([...found.map(({ name }) => name), ...(value === "" ? [] : [value])]);
  return (
    <Select
      label={t("admissionRules.builder.group")}
      data={[...names]}
      value={value === "" ? null : value}
      onChange={(name) => onChange(name ?? "")}
      searchable
      {...choosesFound}
      onSearchChange={setTyped}
      nothingFoundMessage={t("admissionRules.builder.noGroup")}
      maxDropdownHeight={240}
      style={{ flex: 1 }}
    />
  );
}

interface FactNameProps {
  readonly kind: "posture" | "user";
  readonly value: string;
  readonly onChange: (name: string) => void;
}

/**
 * Suggests usual names of posture and the names that records have, with the number of records. The field shows their
 * labels, such as "Disk encrypted". Any other name is shown as it is typed, and as rules spell it.
 */
export function FactName({ kind, value, onChange }: FactNameProps) {
  const [typed, setTyped] = useState("");
  const isPosture = kind === "posture";
  const records = useFactRecords(kind);
  const usual = isPosture ? Object.keys(usualPosture) : [];
  const names = [...new Set([...usual, ...(records === undefined ? [] : namesIn(records))])].sort();
  const labels = labelsOf(names);
  const nameOf = (text: string) => names.find((name) => labels.get(name) === text.trim()) ?? text.replaceAll(/\W/g, "");
  const matching = names.filter((name) => `${labels.get(name)} ${name}`.toLowerCase().includes(typed.toLowerCase()));
  return (
    <Autocomplete
      label={isPosture ? t("admissionRules.builder.posture") : t("admissionRules.builder.attribute")}
      // All names are offered beside one that was selected, and instead of one that no record has.
      data={(names.includes(value) || matching.length === 0 ? names : matching).map((name) => labels.get(name) ?? name)}
      filter={({ options }) => options}
      renderOption={({ option }) =>
        t(`admissionRules.builder.valueCount.${kind}`, {
          value: option.value,
          count: records?.facts.filter((record) => record[nameOf(option.value)] !== undefined).length ?? 0,
          total: records?.facts.length ?? 0,
        })
      }
      // The name can change from outside, when an earlier condition is removed.
      value={nameOf(typed) === value ? typed : (labels.get(value) ?? value)}
      onChange={(text) => {
        setTyped(text);
        onChange(nameOf(text));
      }}
      maxLength={100}
      rightSection={<Combobox.Chevron />}
      rightSectionPointerEvents="none"
      w={170}
      comboboxProps={{ width: "max-content", position: "bottom-start" }}
    />
  );
}

/** The label of each name. Two names with the same label stay as rules spell them. */
function labelsOf(names: readonly string[]): ReadonlyMap<string, string> {
  const labels = names.map(formatFactLabel);
  const isUnique = (label: string) => labels.indexOf(label) === labels.lastIndexOf(label);
  return new Map(names.map((name) => [name, isUnique(formatFactLabel(name)) ? formatFactLabel(name) : name]));
}

interface FactValueProps {
  readonly kind: "posture" | "user";
  /** The name of the fact. */
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Suggests the values that records have, with how many have each. A fact that is true or false is Yes or No. */
export function FactValue({ kind, name, value, onChange }: FactValueProps) {
  const records = useFactRecords(kind);
  const usual = kind === "posture" ? (usualPosture[name] ?? []) : [];
  const counts = new Map([
    ...usual.map((each) => [String(each), 0] as const),
    ...(records === undefined ? [] : valuesIn(records, name)),
  ]);
  const withCount = (stored: string, shown: string) =>
    t(`admissionRules.builder.valueCount.${kind}`, {
      value: shown,
      count: counts.get(stored) ?? 0,
      total: records?.facts.length ?? 0,
    });
  if (isBoolean(kind, name, records?.facts ?? [])) {
    const yesOrNo = [true, false].map((each) => ({ value: String(each), label: capitalize(formatFactValue(each)) }));
    const isOther = value !== "true" && value !== "false";
    return (
      <Select
        label={t("admissionRules.builder.value")}
        data={isOther ? [...yesOrNo, { value, label: value }] : yesOrNo}
        renderOption={({ option }) => withCount(option.value, option.label)}
        value={value}
        onChange={(chosen) => onChange(chosen ?? value)}
        allowDeselect={false}
        style={{ flex: 1 }}
      />
    );
  }
  return (
    <Autocomplete
      label={t("admissionRules.builder.value")}
      data={[...counts.keys()]}
      // All values are offered, also beside one that was selected.
      filter={({ options }) => options}
      renderOption={({ option }) => withCount(option.value, option.value)}
      value={value}
      onChange={onChange}
      maxLength={200}
      {...(counts.size > 0 ? { rightSection: <Combobox.Chevron />, rightSectionPointerEvents: "none" as const } : {})}
      style={{ flex: 1 }}
    />
  );
}

/** How many devices or users meet the condition now. Conditions on time and place show nothing. */
export function MetNow({ condition }: { readonly condition: Condition }) {
  if (condition.kind !== "posture" && condition.kind !== "user" && condition.kind !== "group") return null;
  return (
    <>
      <MetCount condition={condition} kind={condition.kind === "posture" ? "posture" : "user"} />
      {condition.kind !== "group" && <Unreported name={condition.name} kind={condition.kind} />}
    </>
  );
}

/** Warns of a fact that no record has, which is often a misspelt name. */
function Unreported({ name, kind }: { readonly name: string; readonly kind: "posture" | "user" }) {
  const records = useFactRecords(kind);
  if (records === undefined || !isUnreported(kind, name, records)) return null;
  const total = records.facts.length;
  const scope = total === mostCounted ? "seenLast" : "all";
  return (
    <Warning p="xs" mt={4} role="status">
      {t(`admissionRules.builder.unreported.${kind}.${scope}`, { name, total })}
    </Warning>
  );
}

function MetCount({ condition, kind }: { readonly condition: Condition; readonly kind: "posture" | "user" }) {
  const records = useFactRecords(kind);
  const met = records === undefined ? undefined : countMet(condition, records);
  const total = records?.facts.length ?? 0;
  if (met === undefined || total === 0) return null;
  const scope = total === mostCounted ? "seenLast" : "all";
  return (
    <Text size="xs" c="dimmed" mt={4}>
      {t(`admissionRules.builder.met.${kind}.${scope}`, { count: met, total })}
    </Text>
  );
}
