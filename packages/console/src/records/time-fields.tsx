/** The fields for daily hours in a time zone. */
import { Select, Text } from "@mantine/core";
import { useState } from "react";
import { t } from "../messages/i18n.ts";
import { choosesFound } from "./choose-found.ts";
import { formatTimeOfDay } from "./format-time-of-day.ts";
import { minutesPerDay } from "./rule-conditions.ts";

export interface Hours {
  /** Minutes since midnight. */
  readonly from: number;
  /** Minutes since midnight; before `from` if the hours end on the next day. */
  readonly to: number;
  readonly zone: string;
}

interface HoursFieldsProps {
  readonly hours: Hours;
  readonly set: (changed: Partial<Hours>) => void;
}

export function HoursFields({ hours: { from, to, zone }, set }: HoursFieldsProps) {
  const times = { from: formatTimeOfDay(from), to: formatTimeOfDay(to) };
  return (
    <>
      <TimeOfDay
        label={t("admissionRules.builder.from")}
        value={from}
        first={0}
        other={to}
        set={(next) => set({ from: next })}
      />
      <TimeOfDay
        label={t("admissionRules.builder.until")}
        value={to}
        first={1}
        other={from}
        set={(next) => set({ to: next })}
      />
      <Zone zone={zone} set={(next) => set({ zone: next })} />
      {from > to && (
        <Text size="sm" c="dimmed" w="100%" aria-live="polite">
          {t("admissionRules.builder.nextDay", times)}
        </Text>
      )}
    </>
  );
}

interface TimeOfDayProps {
  readonly label: string;
  /** Minutes since midnight. */
  readonly value: number;
  /** The first minute that can be chosen: 0, or 1 for the end of a window, which can be 24:00. */
  readonly first: 0 | 1;
  /** The other end of the window, which cannot be chosen. */
  readonly other: number;
  readonly set: (minutes: number) => void;
}

const halfHours = Array.from({ length: 49 }, (_, index) => index * 30);

/**
 * A list of choices. A field that corrects a time while a person types would produce a time that the person did not
 * mean. A complete time that is typed becomes a choice.
 */
function TimeOfDay({ label, value, first, other, set }: TimeOfDayProps) {
  const [typed, setTyped] = useState("");
  const minutes = [...halfHours, value, ...minutesOf(typed)].filter(
    (minute) => minute >= first && minute < minutesPerDay + first && minute !== other,
  );
  const choices = [...new Set(minutes)].sort((a, b) => a - b);
  return (
    <Select
      label={label}
      data={choices.map((minute) => ({ value: String(minute), label: formatTimeOfDay(minute) }))}
      value={String(value)}
      onChange={(minute) => set(Number(minute ?? value))}
      onSearchChange={setTyped}
      allowDeselect={false}
      searchable
      {...choosesFound}
      maxDropdownHeight={240}
      w={104}
    />
  );
}

/** The time that is typed, such as 8:10, in minutes since midnight. */
function minutesOf(typed: string): readonly number[] {
  const [, hour, minute] = /^(\d{1,2}):([0-5]\d)$/.exec(typed.trim()) ?? [];
  return hour === undefined ? [] : [Number(hour) * 60 + Number(minute)];
}

const zones = Intl.supportedValuesOf("timeZone");

export function Zone({ zone, set }: { readonly zone: string; readonly set: (zone: string) => void }) {
  return (
    <Select
      label={t("admissionRules.builder.timeZone")}
      data={zones.includes(zone) ? zones : [zone, ...zones]}
      value={zone}
      searchable
      {...choosesFound}
      limit={50}
      allowDeselect={false}
      onChange={(next) => set(next ?? zone)}
      style={{ flex: 1 }}
      miw={150}
    />
  );
}
