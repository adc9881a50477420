/** Times whose tooltip shows the exact time in the viewer's time zone. */
import { Tooltip } from "@mantine/core";
import { formatDateTime, formatRelativeTime, formatShortTime, formatZonedTime } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { Absent } from "./absent.tsx";

/** The exact time with its zone, where the hour matters, such as for an expiry. */
export function ExactTime({ at, never = t("common.never") }: RelativeTimeProps) {
  return at === null || at === undefined ? (
    <RelativeTime at={at} never={never} />
  ) : (
    <time dateTime={at}>{formatZonedTime(at)}</time>
  );
}

interface RelativeTimeProps {
  readonly at: string | null | undefined;
  /** Shown without a time. */
  readonly never?: string;
}

/** A time relative to now. */
export function RelativeTime({ at, never = t("common.never") }: RelativeTimeProps) {
  if (at === null || at === undefined) return <Absent className="one-line">{never}</Absent>;
  return <Time at={at}>{formatRelativeTime(at, Date.now())}</Time>;
}

/** A date and a time, such as the end of access. */
export function ShortTime({ at }: { readonly at: string }) {
  return <Time at={at}>{formatShortTime(at)}</Time>;
}

function Time({ at, children }: { readonly at: string; readonly children: string }) {
  return (
    <Tooltip label={formatDateTime(at)} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at} className="one-line">
        {children}
      </time>
    </Tooltip>
  );
}
