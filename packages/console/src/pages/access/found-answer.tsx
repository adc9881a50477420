import { Box, Button, Group, Pagination, Skeleton, Stack, Switch, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { paged } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { compareText, formatExactTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { readWithGeneration, useAccessHistory } from "../../records/access-history.ts";
import { AccessNote } from "../../records/access-note.tsx";
import { useRefusal } from "../../records/access-refusal.ts";
import { type AccessRow, type FoldedRow, foldDevices } from "../../records/fold-devices.ts";
import { orderGateways } from "../../records/gateway-order.ts";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { type AccessSearch, offersCurrent } from "./access-search.ts";
import { ExportAccess } from "./export-access.tsx";
import { UsedConfiguration } from "./used-configuration.tsx";

const found = paged("/tenants/access");
/** The maximum number of rows on a page. The devices of a user are one line, unless they are on two pages. */
const pageSize = 100;

interface FoundAnswerProps {
  readonly query: AccessSearch;
  readonly turnTo: (page: number) => void;
  /** Asks the same question of the current configuration. */
  readonly useCurrent: () => void;
}

/** Access at one point in time: users, devices, resources and policies. */
export function FoundAnswer({ query, turnTo, useCurrent }: FoundAnswerProps) {
  const { view, user, device, resource, at, ip, country, page } = query;
  const [showsDeviceless, setShowsDeviceless] = useState(false);
  const parameters = {
    ...(view !== "who" && user !== "" ? { user } : {}),
    ...(view !== "who" && device !== "" ? { device } : {}),
    ...(view !== "what" ? { resource } : {}),
    ...(at === "" ? {} : { at }),
    ...(ip === "" ? {} : { sourceIp: ip }),
    ...(country.length === 2 ? { country } : {}),
    limit: pageSize,
    offset: (page - 1) * pageSize,
  };
  const history = useAccessHistory(at !== "");
  const begins = history?.begins;
  const isTooEarly = at !== "" && begins !== undefined && Date.parse(at) < Date.parse(begins);
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: [found.path, parameters],
    enabled: at === "" || (history !== undefined && !isTooEarly),
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const read = () => found.read(parameters, signal);
      const [answer, time] = await readWithGeneration(at === "" ? undefined : at, read, signal);
      return { ...answer, time };
    },
  });
  // The state of the records at an earlier time is not known here.
  const reason = useRefusal(user, device, data?.total === 0 && view === "what" && at === "");
  const refusal = reason === undefined ? undefined : t(`access.reasons.${reason}`);
  if (isTooEarly) {
    return (
      <Panel title={t("access.found.empty")}>
        <Stack gap="sm" align="flex-start">
          <Text>{t("access.found.beforeHistory", { time: formatExactTime(begins) })}</Text>
          {offersCurrent(query) && (
            <Button size="xs" variant="default" onClick={useCurrent}>
              {t("access.configuration.useCurrent")}
            </Button>
          )}
        </Stack>
      </Panel>
    );
  }
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={200} aria-busy />;
  // The question names one of them.
  const [showsUsers, showsResources] = [view !== "what", view !== "who"];
  const pages = Math.ceil(data.total / pageSize);
  const nameOf = ({ row }: FoldedRow) => (showsResources ? row.resource.name : row.user.name);
  const folded = foldDevices(data.data);
  // On several pages, the order is that of the API.
  const lines = pages > 1 ? folded : [...folded].sort((one, other) => compareText(nameOf(one), nameOf(other)));
  // The API counts and pages each device. A single page shows how many lines they are.
  const title =
    pages > 1
      ? t("access.found.countOfDevices", { count: data.total })
      : t("access.found.count", { count: lines.length });
  return (
    <Panel title={data.total === 0 ? t("access.found.empty") : title}>
      <Box mb="sm">
        <UsedConfiguration at={data.time.at} isCurrent={at === ""} generation={data.time.generation} />
      </Box>
      {data.total === 0 ? (
        <Text>{refusal ?? (view === "graph" ? "" : t(`access.found.none.${view}`))}</Text>
      ) : (
        <Stack aria-busy={isPlaceholderData}>
          <Switch
            label={t("access.found.withoutDeviceToo")}
            checked={showsDeviceless}
            onChange={({ currentTarget }) => setShowsDeviceless(currentTarget.checked)}
          />
          <div>
            <AccessNote ofResource={view === "who"} />
            <Text size="sm" c="dimmed">
              {t("access.found.gatewayOrder")}
            </Text>
          </div>
          <ExportAccess parameters={parameters} includesDeviceless={showsDeviceless} />
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
                  {showsUsers && <Table.Th>{t("access.found.columns.user")}</Table.Th>}
                  {showsResources && <Table.Th>{t("access.found.columns.resource")}</Table.Th>}
                  <Table.Th>{t("access.found.columns.devices")}</Table.Th>
                  <Table.Th>{t("access.found.columns.policy")}</Table.Th>
                  <Table.Th>{t("access.found.columns.gateways")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {lines.map(({ row, devices, isWithoutDevice }) => (
                  <Table.Tr
                    key={`${row.user.id} ${devices.map(({ id }) => id).join()} ${row.resource.id} ${row.policy.id}`}
                  >
                    {showsUsers && (
                      <Table.Td>
                        <RecordLink to={`/users/${row.user.id}`}>{row.user.name}</RecordLink>
                      </Table.Td>
                    )}
                    {showsResources && (
                      <Table.Td {...(showsUsers ? { "data-label": t("access.found.columns.resource") } : {})}>
                        <RecordLink to={`/resources/${row.resource.id}`}>{row.resource.name}</RecordLink>
                      </Table.Td>
                    )}
                    <Table.Td data-label={t("access.found.columns.devices")}>
                      {devices.length > 0 && <RecordLinks path="devices" records={devices} />}
                      {isWithoutDevice && (devices.length === 0 || showsDeviceless) && (
                        <Text c="dimmed">{t("access.found.withoutDevice")}</Text>
                      )}
                    </Table.Td>
                    <Table.Td data-label={t("access.found.columns.policy")}>
                      <RecordLink to={`/policies/${row.policy.id}`}>{row.policy.name}</RecordLink>
                    </Table.Td>
                    <Table.Td data-label={t("access.found.columns.gateways")}>
                      <Gateways of={row} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {pages > 1 && (
            <Group justify="flex-end">
              <Pagination
                total={pages}
                value={Math.min(page, pages)}
                onChange={turnTo}
                size="sm"
                getControlProps={(control) => ({ "aria-label": t(`lists.pages.${control}`) })}
                getItemProps={(number) => ({ "aria-label": t("lists.page", { number }) })}
              />
            </Group>
          )}
        </Stack>
      )}
    </Panel>
  );
}

/** Each device has its own order of balanced gateways, so a line for several devices cannot show one. */
function Gateways({ of: { gateways, balanced, mode } }: { readonly of: AccessRow }) {
  return (
    <>
      <RecordLinks
        path="gateways"
        records={orderGateways(gateways, balanced ? "AUTOMATIC" : "MANUAL")}
        none={mode === "LOCAL" ? t("access.found.noGatewayNeeded") : t("common.none")}
      />
      {balanced && (
        <Text span inherit c="dimmed">
          {` ${t("access.found.spread")}`}
        </Text>
      )}
    </>
  );
}
