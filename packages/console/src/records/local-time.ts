/** Times as the browser's own field for them writes them, in the viewer's zone, and as the API does. */

/** @param at empty for none. @returns such as `2026-03-01T09:30`; empty where it is no time */
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

/** @returns in the API's form; empty where it is no time */
export function fromLocalTime(text: string): string {
  const time = new Date(text);
  return text === "" || Number.isNaN(time.getTime()) ? "" : time.toISOString();
}
