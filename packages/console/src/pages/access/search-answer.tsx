import { Button, Group, SegmentedControl, Skeleton, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { defaultPageSize as pageSize } from "../../lists/list-preferences.ts";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { ShortTime } from "../../records/relative-time.tsx";
import { type AccessSearch, circumstancesOf, destinationOf, type useAccessSearch } from "./access-search.ts";
import { UsedConfiguration } from "./used-configuration.tsx";

interface SearchAnswerProps {
  readonly query: AccessSearch;
  readonly change: ReturnType<typeof useAccessSearch>["change"];
}

/** Subjects that can reach an address with the current configuration. Each page has a token. */
export function SearchAnswer({ query, change }: SearchAnswerProps) {
  const { of, after } = query;
  const body = {
    subject: { type: of === "users" ? "user" : "device" },
    action: { name: "connect" },
    resource: destinationOf(query),
    context: circumstancesOf(query),
    page: { limit: pageSize, ...(after === "" ? {} : { token: after }) },
  };
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["/access/v1/search/subject", body],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => api.post("/access/v1/search/subject", { signal, body }),
  });
  return (
    <Panel
      title={t("access.whoTitle")}
      actions={
        <SegmentedControl
          aria-label={t("access.found.kinds.label")}
          value={of}
          onChange={(value) => change({ of: value === "users" ? value : undefined })}
          data={[
            { value: "devices", label: t("access.found.kinds.devices") },
            { value: "users", label: t("access.found.kinds.users") },
          ]}
        />
      }
    >
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={200} aria-busy />
      ) : data.context.found.length === 0 && after === "" ? (
        <Text>{t(`access.found.none.${of}`)}</Text>
      ) : (
        <Stack aria-busy={isPlaceholderData}>
          <UsedConfiguration at={query.at} isCurrent />
          <Table.ScrollContainer
            minWidth={0}
            type="native"
            tabIndex={0}
            role="group"
            aria-label={t("access.found.region")}
          >
            <Table className="record-table stacks">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{of === "devices" ? t("access.query.device") : t("access.found.columns.user")}</Table.Th>
                  <Table.Th>{t("access.found.columns.policy")}</Table.Th>
                  <Table.Th>{t("access.found.columns.gatewaysInOrder")}</Table.Th>
                  <Table.Th>{t("access.found.columns.validUntil")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {data.context.found.map(({ id, name, policy, gateways = [], validUntil }) => (
                  <Table.Tr key={id}>
                    <Table.Td>
                      <RecordLink to={`/${of}/${id}`}>{name}</RecordLink>
                    </Table.Td>
                    <Table.Td data-label={t("access.found.columns.policy")}>
                      {policy !== undefined && <RecordLink to={`/policies/${policy.id}`}>{policy.name}</RecordLink>}
                    </Table.Td>
                    <Table.Td data-label={t("access.found.columns.gatewaysInOrder")}>
                      <RecordLinks path="gateways" records={gateways} none={t("access.decision.noGateway")} />
                    </Table.Td>
                    <Table.Td data-label={t("access.found.columns.validUntil")}>
                      {validUntil === undefined ? absent : <ShortTime at={validUntil} />}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          <Group justify="flex-end" gap="xs">
            {after !== "" && (
              <Button variant="default" size="xs" onClick={() => change({ after: undefined }, true)}>
                {t("access.found.firstPage")}
              </Button>
            )}
            {data.page.next_token !== "" && (
              <Button variant="default" size="xs" onClick={() => change({ after: data.page.next_token }, true)}>
                {t("access.found.nextPage")}
              </Button>
            )}
          </Group>
        </Stack>
      )}
    </Panel>
  );
}
