/** The posture of the hypothetical device of an access test. Each property has a value, or any value. */
import { Group, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { useId } from "react";
import { t } from "../../messages/i18n.ts";
import { isBoolean, namesIn, useFactRecords, usualPosture } from "../../records/fact-counts.ts";
import { formatFactInText, formatFactLabel, formatFactValue } from "../../records/format-fact.ts";
import type { AccessTest } from "./format-test.ts";

type Posture = Extract<AccessTest["device"], object>["posture"];
type Value = Posture[string];

interface PostureFieldsProps {
  readonly posture: Posture;
  readonly onChange: (posture: Posture) => void;
}

const none = { facts: [], groups: [] };

/** Offers the usual properties, those that devices report, and those of the test. */
export function PostureFields({ posture, onChange }: PostureFieldsProps) {
  const records = useFactRecords("posture") ?? none;
  const names = [...new Set([...Object.keys(usualPosture), ...namesIn(records), ...Object.keys(posture)])].sort();
  const set = (name: string, value: Value | undefined) => {
    const { [name]: _former, ...others } = posture;
    onChange(value === undefined ? others : { ...others, [name]: value });
  };
  return (
    <Stack gap={6}>
      <Text size="sm" c="dimmed">
        {t("accessTests.fields.devicePostureHelp")}
      </Text>
      {names.map((name) => {
        const value = posture[name];
        const isChoice = isBoolean("posture", name, records.facts) && typeof (value ?? true) === "boolean";
        return isChoice || typeof value === "boolean" ? (
          <YesOrNo key={name} name={name} value={value as boolean | undefined} onChange={(next) => set(name, next)} />
        ) : (
          <Select
            key={name}
            label={formatFactLabel(name)}
            data={optionsOf([...records.facts.map((facts) => facts[name]), value])}
            placeholder={t("accessTests.fields.any")}
            value={value === undefined ? null : JSON.stringify(value)}
            clearable
            clearButtonProps={{ "aria-label": t("records.picker.clear", { field: formatFactInText(name) }) }}
            onChange={(key) => set(name, key === null ? undefined : (JSON.parse(key) as Value))}
          />
        );
      })}
    </Stack>
  );
}

/**
 * Each value once, with its JSON text as the key, so that "14" and 14 differ. The label of a text has quotation marks
 * only if another value looks like it.
 */
function optionsOf(values: readonly unknown[]): { value: string; label: string }[] {
  const keys = new Set(values.flatMap((value) => (value === undefined ? [] : [JSON.stringify(value)])));
  return [...keys].map((key) => {
    const value: unknown = JSON.parse(key);
    return { value: key, label: typeof value === "string" && !keys.has(value) ? value : key };
  });
}

interface YesOrNoProps {
  readonly name: string;
  readonly value: boolean | undefined;
  readonly onChange: (value: boolean | undefined) => void;
}

function YesOrNo({ name, value, onChange }: YesOrNoProps) {
  const id = useId();
  return (
    <Group justify="space-between" gap="xs">
      <Text size="sm" id={id}>
        {formatFactLabel(name)}
      </Text>
      <SegmentedControl
        size="xs"
        aria-labelledby={id}
        value={value === undefined ? "any" : String(value)}
        onChange={(next) => onChange(next === "any" ? undefined : next === "true")}
        data={[
          { value: "any", label: t("accessTests.fields.any") },
          { value: "true", label: formatFactValue(true) },
          { value: "false", label: formatFactValue(false) },
        ]}
      />
    </Group>
  );
}
