/** Gateways by status, and the configurations that the gateways with problems have applied. */
import type { ItemAt } from "@gatehouse/client/calls";
import { Group, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../../app/api.ts";
import { compareText } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { EmptyState } from "../../records/empty-list.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Panel } from "../../records/record-page.tsx";
import { Status, StatusOf } from "../../records/status.tsx";
import { formatGeneration, formatLag, formatSync, type GatewaySync } from "../gateways/format-sync.ts";
import { useOffersGateway } from "./first-steps.tsx";
import { useGateways } from "./overview-queries.ts";
import { More, QueryPanel } from "./query-panel.tsx";

type Gateway = ItemAt<"/tenants/gateways">;

const refreshMs = 15_000;

/** Ordered by urgency. */
const states = ["ERROR", "OFFLINE", "PENDING", "MAINTENANCE", "ONLINE"] as const;

/** Each gateway costs a request, so only these are queried. */
const mostQueried = 12;
const mostShown = 6;

export function GatewaysPanel() {
  const query = useGateways();
  return (
    <Panel title={t("overview.gateways.title")} actions={<More to="/gateways">{t("overview.gateways.all")}</More>}>
      <QueryPanel query={query}>
        {(all) =>
          all.length === 0 ? (
            <NoGateways />
          ) : (
            <Stack gap="sm">
              <Counts all={all} />
              <Syncs all={all} />
            </Stack>
          )
        }
      </QueryPanel>
    </Panel>
  );
}

/** The checklist above offers the same, with the same words. */
function NoGateways() {
  if (useOffersGateway()) return <Status tone="idle">{t("gateways.empty.title")}</Status>;
  return (
    <EmptyState
      isPart
      empty={{
        title: t("gateways.empty.title"),
        text: t("overview.gateways.empty"),
        action: { label: t("gateways.create"), to: "/gateways?new=1", permission: "gateways:write" },
        guide: "gateway#install",
      }}
    />
  );
}

function Counts({ all }: { readonly all: readonly Gateway[] }) {
  return (
    <Group gap="xs" component="ul" className="counts" aria-label={t("overview.gateways.byStatus")}>
      {states.flatMap((state) => {
        const count = all.filter(({ status }) => status === state).length;
        if (count === 0) return [];
        return [
          <li key={state}>
            <RecordLink to={`/gateways?status=${state}`}>
              <StatusOf value={state} words={t(`overview.gateways.counts.${state}`, { count })} />
            </RecordLink>
          </li>,
        ];
      })}
    </Group>
  );
}

interface Row {
  readonly gateway: Gateway;
  readonly sync: GatewaySync | undefined;
}

function Syncs({ all }: { readonly all: readonly Gateway[] }) {
  const urgency = new Map<string, number>(states.map((state, index) => [state, index]));
  const byUrgency = [...all].sort(
    (a, b) => (urgency.get(a.status) ?? 0) - (urgency.get(b.status) ?? 0) || compareText(a.name, b.name),
  );
  const queried = byUrgency.slice(0, mostQueried);
  const ids = queried.map(({ id }) => id);
  const { data: syncs } = useQuery({
    queryKey: ["/tenants/gateways/{id}/sync", "of several", ids],
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs,
    queryFn: async ({ signal }) =>
      new Map(
        await Promise.all(
          // A gateway that was deleted in the meantime has no state, and is absent from the next list.
          ids.map(async (id) => [id, await readSync(id, signal).catch(() => undefined)] as const),
        ),
      ),
  });
  const rows = queried.map((gateway): Row => ({ gateway, sync: syncs?.get(gateway.id) }));
  const isFine = ({ gateway, sync }: Row) => gateway.status === "ONLINE" && sync?.state === "applied";
  const shown = [...rows.filter((row) => !isFine(row)), ...rows.filter(isFine)].slice(0, mostShown);
  return (
    <>
      <Table.ScrollContainer
        minWidth={0}
        type="native"
        tabIndex={0}
        role="group"
        aria-label={t("overview.gateways.table")}
      >
        <Table className="record-table" aria-label={t("overview.gateways.table")} aria-busy={syncs === undefined}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th miw={104}>{t("common.name")}</Table.Th>
              <Table.Th>{t("common.status")}</Table.Th>
              <Table.Th visibleFrom="lg">{t("gateways.sync.title")}</Table.Th>
              <Table.Th visibleFrom="xl">{t("overview.gateways.generation")}</Table.Th>
              <Table.Th visibleFrom="xl">{t("overview.gateways.delay")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map(({ gateway, sync }) => (
              <Table.Tr key={gateway.id}>
                <Table.Td>
                  <RecordLink to={`/gateways/${gateway.id}`}>{gateway.name}</RecordLink>
                </Table.Td>
                <Table.Td>
                  <StatusOf value={gateway.status} />
                </Table.Td>
                <Table.Td visibleFrom="lg">
                  <Configuration gateway={gateway} sync={sync} />
                </Table.Td>
                <Table.Td visibleFrom="xl">{formatGenerations(sync)}</Table.Td>
                <Table.Td visibleFrom="xl" className="one-line">
                  {sync === undefined ? "…" : (formatLag(sync) ?? absent)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {all.length > shown.length && (
        <Text size="sm" c="dimmed">
          {t("common.andMore", { count: all.length - shown.length })}
        </Text>
      )}
    </>
  );
}

function readSync(id: string, signal: AbortSignal): Promise<GatewaySync> {
  return api.get("/tenants/gateways/{id}/sync", { path: { id }, signal });
}

/** A gateway that was never deployed is not behind, and one in maintenance is not expected to enforce anything. */
function Configuration({ gateway: { status }, sync }: Row) {
  if (status === "PENDING" || status === "MAINTENANCE") return absent;
  if (sync === undefined) return "…";
  const { text, tone } = formatSync(sync);
  return <Status tone={tone}>{text}</Status>;
}

/** The applied generation, and the target if it is another one. */
function formatGenerations(sync: GatewaySync | undefined): ReactNode {
  const [applied, wanted] = [sync?.applied ?? null, sync?.wanted ?? null];
  if (wanted === null || applied?.generation === wanted.generation) {
    return applied === null ? absent : formatGeneration(applied);
  }
  return t("overview.gateways.generations", { applied: formatGeneration(applied), target: formatGeneration(wanted) });
}
