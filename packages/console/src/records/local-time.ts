/** Converts between the API's times and those that people type or choose, which are in the viewer's time zone. */
import { locale } from "../messages/locale.ts";

/** The value of a `datetime-local` input. @returns such as `2026-03-01T09:30`; empty if `at` is empty or invalid */
export function toLocalTime(at: string): string {
  const time = new Date(at);
  if (at === "" || Number.isNaN(time.getTime())) return "";
  const [year, ...parts] = [
    time.getFullYear(),
    time.getMonth() + 1,
    time.getDate(),
    time.getHours(),
    time.getMinutes(),
  ].map((part) => String(part).padStart(2, "0"));
  const [month, day, hour, minute] = parts;
  return `${year?.padStart(4, "0")}-${month}-${day}T${hour}:${minute}`;
}

/** @returns an RFC 3339 time; empty if `text` is empty or invalid */
export function fromLocalTime(text: string): string {
  const time = new Date(text);
  return text === "" || Number.isNaN(time.getTime()) ? "" : time.toISOString();
}

const months = Array.from({ length: 12 }, (_, month) =>
  new Intl.DateTimeFormat(locale, { month: "long" }).format(new Date(2026, month, 1)).toLowerCase(),
);
const inWords = /^(\d{1,2}) (\p{L}{3,})\.? (\d{4})(?:,? (?:at )?(\d{1,2}):(\d{2}))?$/u;
const inDigits = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]+(\d{1,2}):(\d{2}))?$/;

/**
 * Reads a time that a person typed, such as "3 Mar 2026, 09:30" or "2026-03-03 09:30". Without a time of day, it is
 * midnight.
 *
 * @returns an RFC 3339 time; undefined if the text is not a time
 */
export function readTypedTime(text: string): string | undefined {
  const trimmed = text.trim().replaceAll(/\s+/g, " ");
  const words = inWords.exec(trimmed);
  const [year, month, day, hour, minute] =
    words === null
      ? (inDigits.exec(trimmed)?.slice(1) ?? []).map(Number)
      : [words[3], monthOf(words[2] ?? ""), words[1], words[4], words[5]].map(Number);
  if (year === undefined || month === undefined || day === undefined) return undefined;
  const at = new Date(year, month - 1, day, hour || 0, minute || 0);
  // Dates such as 31 February would be other dates.
  const isSame = at.getFullYear() === year && at.getMonth() === month - 1 && at.getDate() === day;
  return isSame && (hour || 0) < 24 && (minute || 0) < 60 ? at.toISOString() : undefined;
}

/** @returns 1 for January; 0 for other words */
function monthOf(word: string): number {
  return months.findIndex((month) => month.startsWith(word.toLowerCase().slice(0, 3))) + 1;
}
