/** The time, source address and country of the question, and the configuration that answers it. */
import { SimpleGrid, Stack, Switch, Text, TextInput } from "@mantine/core";
import { formatOwnZone } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { useAccessHistory } from "../../records/access-history.ts";
import { DateTimeField } from "../../records/date-time-field.tsx";
import { type AccessSearch, hasOnlyCurrent, offersCurrent, type useAccessSearch } from "./access-search.ts";
import { TypedText } from "./typed-text.tsx";

export interface QueryProps {
  readonly query: AccessSearch;
  readonly change: ReturnType<typeof useAccessSearch>["change"];
}

export interface CircumstancesProps extends QueryProps {
  /** Called when the text of the time becomes unreadable, and when it no longer is. */
  readonly onTimeUnreadable: (isUnreadable: boolean) => void;
  /** Whether every answer uses the current configuration, also for past times. */
  readonly isAlwaysCurrent?: boolean;
}

export function Circumstances({ query, change, onTimeUnreadable, isAlwaysCurrent = false }: CircumstancesProps) {
  const { view, at, isCurrent, country, ip } = query;
  const isAddress = hasOnlyCurrent(query);
  const isFixed = isAddress || isAlwaysCurrent;
  // A decision of the current configuration can be about any time.
  const isLimited = !isFixed && view !== "can";
  const begins = useAccessHistory(isLimited)?.begins;
  return (
    <Stack pt="md" gap="md">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <DateTimeField
          label={t("access.query.when", { zone: formatOwnZone() })}
          description={isFixed ? t("access.query.whenHelp") : t("access.query.whenHelpPast")}
          earliest={isLimited ? begins : undefined}
          value={at}
          onChange={(value) => change({ at: value || undefined })}
          onUnreadable={onTimeUnreadable}
          inputWrapperOrder={["label", "input", "error", "description"]}
        />
        <TypedText
          label={t("access.query.sourceIp")}
          placeholder={t("common.example", { value: "198.51.100.7" })}
          value={ip}
          onChange={(ip) => change({ ip })}
        />
        <TextInput
          label={t("access.query.country")}
          placeholder={t("common.example", { value: "DE" })}
          maxLength={2}
          value={country}
          onChange={({ currentTarget: { value } }) =>
            change({ country: value.toUpperCase().replaceAll(/[^A-Z]/g, "") })
          }
        />
      </SimpleGrid>
      {isAddress ? (
        <Text size="sm" c="dimmed">
          {t("access.query.pastNotForAddress")}
        </Text>
      ) : (
        !isFixed &&
        offersCurrent(query) && (
          <Switch
            label={t("access.configuration.useCurrent")}
            description={t("access.query.currentHelp")}
            checked={isCurrent}
            onChange={({ currentTarget }) => change({ config: currentTarget.checked ? "current" : undefined })}
          />
        )
      )}
    </Stack>
  );
}
