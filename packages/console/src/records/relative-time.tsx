/** A time relative to now. The tooltip shows the exact time in the viewer's time zone. */
import { Text, Tooltip } from "@mantine/core";
import { formatDateTime, formatRelativeTime } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

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
