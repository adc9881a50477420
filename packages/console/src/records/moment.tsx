/** A time as people say it, in the viewer's zone; the exact one shows on hover, and to who reads with other means. */
import { Tooltip } from "@mantine/core";

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

const steps = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [7, "day"],
] as const;

/** @param now in milliseconds since 1970 */
export function sayWhen(at: string, now: number): string {
  let distance = (Date.parse(at) - now) / 1000;
  if (Math.abs(distance) < 45) return "just now";
  for (const [size, unit] of steps) {
    if (Math.abs(distance) < size) return relative.format(Math.round(distance), unit);
    distance /= size;
  }
  return day.format(new Date(at));
}

export function Moment({ at, never = "Never" }: { readonly at: string | null | undefined; readonly never?: string }) {
  if (at === null || at === undefined) return <span>{never}</span>;
  return (
    <Tooltip label={exact.format(new Date(at))} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at}>{sayWhen(at, Date.now())}</time>
    </Tooltip>
  );
}
