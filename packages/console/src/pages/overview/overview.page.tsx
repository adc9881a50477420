/** The state of the network. Each line links to the page where the problem can be resolved. */
import { Group, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { paged } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { formatNumber, uncapitalize } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { useAwaitingCount } from "../../records/awaiting-devices.ts";
import { EmptyState } from "../../records/empty-list.tsx";
import { formatActor } from "../../records/format-actor.ts";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status } from "../../records/status.tsx";
import { formatEvent } from "../events/format-operation.ts";
import { formatTarget, nameOfTarget } from "../events/format-target.ts";
import {
  ClosedAddresses,
  DivertedAddresses,
  Finding,
  NeverMatchingPolicies,
  UnreachableResources,
} from "./findings.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { GatewaysPanel } from "./gateways-panel.tsx";
import { mostDevices, useLastDevices, useTestResults } from "./overview-queries.ts";
import { More, QueryPanel } from "./query-panel.tsx";
import { Summary } from "./summary.tsx";

const events = paged("/tenants/events");
const refreshMs = 15_000;

export function OverviewPage() {
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("overview.title") });
  }, []);
  const [canReadGateways, canReadDevices, canReadEvents] = [
    usePermission("gateways:read"),
    usePermission("devices:read"),
    usePermission("events:read"),
  ];
  const [canReadTests, canDecide] = [usePermission("access-tests:read"), usePermission("decisions:read")];
  const canReadNothing = !(canReadGateways || canReadDevices || canReadEvents || canDecide);
  return (
    <Stack>
      <Title order={1}>{t("overview.title")}</Title>
      {canReadNothing && <Text>{t("overview.notPermitted")}</Text>}
      <FirstSteps />
      <Summary />
      {/* The order on a narrow screen: problems first. On a wide one, the changes are below the gateways. */}
      <div className="overview-panels">
        {canReadGateways && <GatewaysPanel />}
        <Stack className="overview-problems">
          {canReadTests && canDecide && <AccessTests />}
          {canDecide && <UnreachableResources />}
          {canDecide && <ClosedAddresses />}
          {canDecide && <DivertedAddresses />}
          {canDecide && <NeverMatchingPolicies />}
          {canReadDevices && <Devices />}
        </Stack>
        {canReadEvents && <RecentChanges />}
      </div>
    </Stack>
  );
}

function AccessTests() {
  const query = useTestResults();
  return (
    <Panel
      title={t("overview.accessTests.title")}
      actions={<More to="/access-tests">{t("overview.accessTests.all")}</More>}
    >
      <QueryPanel query={query}>
        {({ tests, summary }) => {
          const failing = tests.filter(({ state }) => !state.holds);
          if (tests.length === 0) {
            return (
              <EmptyState
                isPart
                empty={{
                  title: t("accessTests.empty.title"),
                  text: t("overview.accessTests.empty"),
                  action: {
                    label: t("accessTests.create"),
                    to: "/access-tests?new=1",
                    permission: "access-tests:write",
                  },
                  guide: "access#access-tests",
                }}
              />
            );
          }
          return (
            <Stack gap="xs">
              <Status tone={summary.broken > 0 ? "bad" : "good"}>
                {summary.broken > 0
                  ? t("overview.accessTests.failing", { failing: summary.broken, total: tests.length })
                  : t("overview.accessTests.allPassing", { count: summary.holding })}
              </Status>
              <ul className="findings">
                {failing.slice(0, 8).map(({ id, name, state }) => (
                  <Finding key={id} to={`/access-tests/${id}`} name={name ?? id ?? ""}>
                    {state.missing === undefined
                      ? t("accessTests.state.failing", { count: state.brokenCount })
                      : t(`accessTests.missing.${state.missing}`)}
                  </Finding>
                ))}
              </ul>
              {failing.length > 8 && <Text c="dimmed">{t("common.andMore", { count: failing.length - 8 })}</Text>}
            </Stack>
          );
        }}
      </QueryPanel>
    </Panel>
  );
}

function RecentChanges() {
  const query = useQuery({
    queryKey: [events.path, "recent"],
    queryFn: async ({ signal }) => {
      const { data } = await events.read({ sort: "-position", limit: 40 }, signal);
      // Excludes the state reports of gateways, which would crowd out other events. The panel above shows them.
      return data.filter(({ operation }) => operation !== "reportGatewayState").slice(0, 8);
    },
    refetchInterval: refreshMs,
  });
  return (
    <Panel title={t("overview.events.title")} actions={<More to="/events">{t("overview.events.all")}</More>}>
      <QueryPanel query={query}>
        {(data) => (
          <Table className="record-table sentences" aria-label={t("overview.events.title")}>
            <Table.Tbody>
              {data.map(({ id, actor, createdAt, ...event }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <RecordLink to={`/events/${id}`}>{formatChange(event)}</RecordLink>
                  </Table.Td>
                  <Table.Td w="1%" className="one-line">
                    <Text truncate maw={240} title={formatActor(actor)}>
                      <bdi>{formatActor(actor)}</bdi>
                    </Text>
                    <Text c="dimmed">
                      <RelativeTime at={createdAt} />
                    </Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </QueryPanel>
    </Panel>
  );
}

/** Names the kind of the record if the operation does not: the deactivation of a user changes devices too. */
function formatChange(event: Parameters<typeof formatEvent>[0]): string {
  const operation = formatEvent(event);
  const { type } = event.target;
  const name = nameOfTarget(event.target);
  if (name === undefined) return operation;
  const kind = formatTarget(type);
  return operation.toLowerCase().includes(kind.toLowerCase())
    ? t("overview.events.named", { operation, name })
    : t("overview.events.namedWithKind", { operation, name, kind: uncapitalize(kind) });
}

function Devices() {
  const query = useLastDevices();
  const { data: awaiting = 0 } = useAwaitingCount();
  return (
    <Panel
      title={t("overview.devices.title")}
      actions={<More to="/devices?sort=-lastConnection">{t("overview.devices.all")}</More>}
    >
      <QueryPanel query={query}>
        {({ data, total }) => {
          const online = data.filter(({ status }) => status === "Online");
          // If all devices of the page are online, more may be.
          const count =
            online.length === mostDevices
              ? t("overview.devices.orMore", { count: mostDevices })
              : formatNumber(online.length);
          return (
            <Stack gap="xs">
              <Group gap="xs">
                <Status tone="idle">
                  {total === 0 ? t("overview.devices.none") : t("overview.devices.online", { online: count, total })}
                </Status>
                {awaiting > 0 && (
                  <RecordLink to="/device-approvals">
                    <Status tone="waiting">{t("overview.summary.approvals", { count: awaiting })}</Status>
                  </RecordLink>
                )}
              </Group>
              {online.length > 0 && (
                <>
                  <Text size="sm" c="dimmed">
                    {t("overview.devices.last")}
                  </Text>
                  <ul className="findings times">
                    {online.slice(0, 5).map(({ id, name, lastConnection }) => (
                      <Finding key={id} to={`/devices/${id}`} name={name}>
                        <RelativeTime at={lastConnection} />
                      </Finding>
                    ))}
                  </ul>
                </>
              )}
            </Stack>
          );
        }}
      </QueryPanel>
    </Panel>
  );
}
