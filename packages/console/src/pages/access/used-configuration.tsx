/** Names the configuration that an answer uses, so that the answer can serve as evidence. */
import { Text } from "@mantine/core";
import { formatExactTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";

interface UsedConfigurationProps {
  /** The time of the answer in ISO 8601; empty for now. */
  readonly at: string;
  /** Whether the answer uses the current configuration instead of the one of that time. */
  readonly isCurrent: boolean;
  /** Undefined if it is not known. */
  readonly generation?: number | undefined;
}

export function UsedConfiguration({ at, isCurrent, generation }: UsedConfigurationProps) {
  const used =
    at === ""
      ? t("access.configuration.current")
      : t(`access.configuration.${isCurrent ? "currentAt" : "pastAt"}`, { time: formatExactTime(at) });
  return (
    <Text size="sm" c="dimmed">
      {generation === undefined ? used : `${used} ${t("access.configuration.generation", { generation })}`}
    </Text>
  );
}
