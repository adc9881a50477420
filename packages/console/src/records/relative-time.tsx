/** A time relative to now. The tooltip shows the exact time in the viewer's time zone. */
import { Text, Tooltip } from "@mantine/core";
import { formatDateTime, formatOwnZone, formatRelativeTime, formatShortTime } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

/** The exact time with its zone, where the hour matters, such as for an expiry. */
export function ExactTime({ at, never = t("common.never") }: RelativeTimeProps) {
  return at === null || at === undefined ? (
    <RelativeTime at={at} never={never} />
  ) : (
    <time dateTime={at}>{`${formatShortTime(at)} (${formatOwnZone()})`}</time>
  );
}

interface RelativeTimeProps {
  readonly at: string | null | undefined;
  /** Shown without a time. */
  readonly never?: string;
}

export function RelativeTime({ at, never = t("common.never") }: RelativeTimeProps) {
  if (at === null || at === undefined) {
    return (
      <Text span inherit c="dimmed">
        {never}
      </Text>
    );
  }
  return (
    <Tooltip label={formatDateTime(at)} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at} className="one-line">
        {formatRelativeTime(at, Date.now())}
      </time>
    </Tooltip>
  );
}
