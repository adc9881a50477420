/** A time in the viewer's time zone: typed in the format of the console, or chosen in the browser's calendar. */
import { ActionIcon, TextInput, type TextInputProps } from "@mantine/core";
import { CalendarClock } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { formatOwnZone, formatShortTime } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { fromLocalTime, readTypedTime, toLocalTime } from "./local-time.ts";
import { usePendingText } from "./unsaved.tsx";

/** A time that has not passed, at a round hour. */
export const exampleTime = formatShortTime(`${new Date().getFullYear() + 1}-03-03T09:30:00`);

interface DateTimeFieldProps extends Omit<TextInputProps, "label" | "value" | "onChange" | "type" | "rightSection"> {
  /** Absent for a field that only has an `aria-label`, such as a filter. */
  readonly label?: string;
  /** An RFC 3339 time; empty for none. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Called when the text becomes unreadable, and when it no longer is. `value` stays the previous one meanwhile. */
  readonly onUnreadable?: (isInvalid: boolean) => void;
  /** The earliest time that the calendar offers, as an RFC 3339 time. */
  readonly earliest?: string | undefined;
}

export function DateTimeField({ value, onChange, onUnreadable, earliest, error, ...input }: DateTimeFieldProps) {
  const { label = input["aria-label"] ?? "" } = input;
  const [typed, setTyped] = useState(format(value));
  const [isInvalid, setInvalid] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setTyped(format(value));
    setInvalid(false);
  }, [value]);
  usePendingText(typed.trim() !== format(value));
  // The browser does not submit a form with an invalid field. The form still has the previous value.
  useEffect(() => field.current?.setCustomValidity(isInvalid ? t("common.timeInvalid") : ""), [isInvalid]);
  useEffect(() => {
    if (!isInvalid) return;
    onUnreadable?.(true);
    return () => onUnreadable?.(false);
  }, [isInvalid, onUnreadable]);
  const apply = () => {
    const isSame = typed.trim() === format(value);
    const read = isSame ? value : typed.trim() === "" ? "" : readTypedTime(typed);
    setInvalid(read === undefined);
    if (read !== undefined && !isSame) onChange(read);
  };
  const choose = (at: string) => {
    // The form may still have the previous value.
    setTyped(format(at));
    setInvalid(false);
    onChange(at);
  };
  return (
    <TextInput
      placeholder={t("common.example", { value: exampleTime })}
      {...input}
      ref={field}
      error={isInvalid ? t("common.timeInvalid") : error}
      value={typed}
      maxLength={40}
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      onBlur={apply}
      onKeyDown={({ key }) => {
        if (key === "Enter") apply();
      }}
      rightSection={
        <>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t("common.chooseTime", { field: label })}
            data-reads
            onClick={() => {
              // The focus is in the field after the calendar is closed.
              field.current?.focus();
              picker.current?.showPicker();
            }}
          >
            <CalendarClock size={16} aria-hidden />
          </ActionIcon>
          {/* The calendar opens at this input. People type into the other one. */}
          <input
            ref={picker}
            type="datetime-local"
            className="unseen"
            tabIndex={-1}
            aria-hidden
            // The calendar has no seconds.
            min={earliest === undefined ? undefined : toLocalTime(nextMinute(earliest))}
            value={toLocalTime(value)}
            onChange={({ currentTarget }) => choose(fromLocalTime(currentTarget.value))}
          />
        </>
      }
    />
  );
}

/** The description of a field, with the time zone of its times. */
export function describeInOwnZone(description = ""): string {
  return `${description} ${t("common.timesIn", { zone: formatOwnZone() })}`.trim();
}

function format(at: string): string {
  return at === "" || Number.isNaN(Date.parse(at)) ? "" : formatShortTime(at);
}

const minuteMs = 60_000;

function nextMinute(at: string): string {
  return new Date(Math.ceil(Date.parse(at) / minuteMs) * minuteMs).toISOString();
}
