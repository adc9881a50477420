/** Dates, times, numbers and sort order, in the locale of the catalogue and the time zone of the browser. */
import { t } from "./i18n.ts";
import { locale } from "./locale.ts";

const numbers = new Intl.NumberFormat(locale);
const dates = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const dateTimes = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });
const times = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const shortTimes = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const relativeTimes = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const lists = new Intl.ListFormat(locale, { type: "conjunction" });
const collator = new Intl.Collator(locale, { sensitivity: "base", numeric: true });

/** Such as "1,234". */
export function formatNumber(value: number): string {
  return numbers.format(value);
}

/** Such as "3 Mar 2026". */
export function formatDate(at: string): string {
  return dates.format(new Date(at));
}

/** Such as "3 Mar 2026, 09:30". */
export function formatShortTime(at: string): string {
  return shortTimes.format(new Date(at));
}

/** A time beside times in other zones, such as "3 Mar 2026, 09:30 (Europe/Berlin)". */
export function formatZonedTime(at: string): string {
  return `${formatShortTime(at)} (${formatOwnZone()})`;
}

/** An exact time for evidence, such as "3 Mar 2026, 09:30:00 (Europe/Berlin)". */
export function formatExactTime(at: string): string {
  return `${formatTime(at)} (${formatOwnZone()})`;
}

/** The viewer's time zone, such as "Europe/Berlin". */
export function formatOwnZone(): string {
  return shortTimes.resolvedOptions().timeZone;
}

/** Such as "3 Mar 2026, 09:30:00". */
export function formatTime(at: string): string {
  return times.format(new Date(at));
}

/** Such as "Tuesday 3 March 2026 at 09:30:00 UTC". */
export function formatDateTime(at: string): string {
  return dateTimes.format(new Date(at));
}

/** Such as "Monday 07:00", in a time zone. */
export function formatWeekTime(at: Date, zone: string): string {
  const format = new Intl.DateTimeFormat(locale, {
    weekday: "long",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: zone,
  });
  return format.format(at).replace(" at ", " ");
}

const lengths = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
] as const;

/** Such as "12 hours", in the largest unit that needs no fraction. */
export function formatDuration(seconds: number): string {
  const [length, unit] = lengths.find(([each]) => seconds >= each && seconds % each === 0) ?? [1, "second"];
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }).format(seconds / length);
}

/** Such as "a, b and c". */
export function formatList(items: readonly string[]): string {
  return lists.format(items);
}

/** Such as "Sales, Support and Finance" in a narrow cell. A line does not end with the "and". */
export function formatCellList(items: readonly string[]): string {
  return lists
    .formatToParts(items)
    .map(({ type, value }) => (type === "literal" ? value.replace(/(?<=\p{L}) $/u, "\u00a0") : value))
    .join("");
}

/** The names of such a list, and the separators between them. */
export function listParts(
  items: readonly string[],
): readonly { readonly type: "element" | "literal"; readonly value: string }[] {
  return lists.formatToParts(items);
}

/** The text with a capital letter at the start, as a sentence. */
export function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** The text without a capital letter at the start, as in the middle of a sentence. Abbreviations keep theirs. */
export function uncapitalize(text: string): string {
  return /^\p{Lu}\p{Lu}/u.test(text) ? text : `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

const units = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [7, "day"],
] as const;

/**
 * Such as "5 minutes ago"; the date if `at` is a week or more away.
 *
 * @param now in milliseconds since 1970
 */
export function formatRelativeTime(at: string, now: number): string {
  let distance = (Date.parse(at) - now) / 1000;
  if (Math.abs(distance) < 45) return t("common.justNow");
  for (const [size, unit] of units) {
    const rounded = Math.round(distance);
    // 59.6 seconds are a minute.
    if (Math.abs(rounded) < size) return relativeTimes.format(rounded, unit).replace(/(\d) /, "$1\u00a0");
    distance /= size;
  }
  return formatDate(at);
}

/** Orders texts as people sort them: case is ignored, and "item 2" comes before "item 10". */
export function compareText(left: string, right: string): number {
  return collator.compare(left, right);
}
