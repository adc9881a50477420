/** A duration as an amount and a unit, so that nobody converts days to minutes. */
import { Group, NumberInput, Select } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { formatDuration } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

/** Seconds. */
export interface DurationLimits {
  readonly min: number;
  readonly max: number;
  /** Whether there may be no limit, which an empty field means. */
  readonly optional?: boolean;
}

const units = ["minutes", "hours", "days"] as const;
type Unit = (typeof units)[number];
const seconds: Readonly<Record<Unit, number>> = { minutes: 60, hours: 3_600, days: 86_400 };

interface DurationFieldProps {
  readonly label: string;
  readonly description?: ReactNode;
  /** Seconds; null if the field is empty. */
  readonly value: number | null;
  readonly limits: DurationLimits;
  readonly error?: string | undefined;
  readonly onChange: (seconds: number | null) => void;
}

export function DurationField({ label, value, limits, error, onChange, ...rest }: DurationFieldProps) {
  const [unit, setUnit] = useState(() => largestUnit(value));
  const amount = value === null ? "" : value / seconds[unit];
  return (
    <NumberInput
      label={label}
      {...rest}
      error={error ?? durationProblem(value, limits)}
      allowDecimal={false}
      allowNegative={false}
      allowLeadingZeros={false}
      hideControls
      maxLength={9}
      // The error stands below the field, and the unit stays next to it.
      inputContainer={(input) => (
        <Group gap="xs" wrap="nowrap" align="flex-end" maw={420}>
          <div style={{ flex: 1 }}>{input}</div>
          <Select
            aria-label={t("records.duration.unit", { label })}
            data={units.map((each) => ({ value: each, label: t(`records.duration.${each}`) }))}
            value={unit}
            allowDeselect={false}
            w={120}
            onChange={(next) => {
              const chosen = units.find((each) => each === next) ?? unit;
              setUnit(chosen);
              if (amount !== "") onChange(amount * seconds[chosen]);
            }}
          />
        </Group>
      )}
      value={amount}
      // The library passes large numbers as text.
      onChange={(next) => onChange(next === "" ? null : Number(next) * seconds[unit])}
    />
  );
}

/** The reason why a duration is refused. */
export function durationProblem(value: number | null, { min, max, optional }: DurationLimits): string | undefined {
  if (value === null ? optional === true : value >= min && value <= max) return undefined;
  return t("records.duration.outOfRange", { min: formatDuration(min), max: formatDuration(max) });
}

function largestUnit(value: number | null): Unit {
  if (value === null) return "hours";
  return units.findLast((unit) => value % seconds[unit] === 0) ?? "minutes";
}
