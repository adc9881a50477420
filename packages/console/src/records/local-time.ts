/** Converts between the API's times and the value of a `datetime-local` input, which is in the viewer's time zone. */

/** The time zone of the viewer, such as "Europe/Berlin". */
export const localZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** @returns such as `2026-03-01T09:30`; empty if `at` is empty or invalid */
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
