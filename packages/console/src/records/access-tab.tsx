/** The access of a user or a device, or to a resource: since when, and through which policy. */
import { GatehouseError } from "@gatehouse/client/errors";
import { Button, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { paged } from "../app/api.ts";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { compareText } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";
import { absent } from "./absent.tsx";
import { useAccessHistory } from "./access-history.ts";
import { AccessNote } from "./access-note.tsx";
import { useRefusal } from "./access-refusal.ts";
import { type Probe, probeTimes, type Since, sinceOf } from "./access-since.ts";
import { createPolicy, EmptyState } from "./empty-list.tsx";
import { type FoldedRow, foldDevices } from "./fold-devices.ts";
import { RecordLink, RecordLinks } from "./record-link.tsx";
import { Panel } from "./record-page.tsx";

const source = paged("/tenants/access");

/** Rows that are read at once. A row is a user, a device and a resource. */
const mostRows = 100;

type Question = { readonly user: string } | { readonly device: string } | { readonly resource: string };

interface AccessTabProps {
  readonly of: Question;
  /** When the record was created. Before that time, nothing is requested. */
  readonly createdAt: string;
}

export function AccessTab({ of, createdAt }: AccessTabProps) {
  const isResource = "resource" in of;
  // The page of a device names it.
  const showsDevices = !("device" in of);
  const question: Readonly<Record<string, string>> = { ...of };
  const { data, error, refetch } = useQuery({
    queryKey: [source.path, question, mostRows],
    queryFn: ({ signal }) => source.read({ ...question, limit: mostRows }, signal),
  });
  const probes = useProbes(question, createdAt, data !== undefined && data.total > 0);
  const { user = "", device = "" } = question;
  const refusal = useRefusal(user, device, data?.total === 0 && !isResource);
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={160} aria-busy />;
  const nameOf = ({ row }: FoldedRow) => (isResource ? row.user.name : row.resource.name);
  const rows = [...foldDevices(data.data)].sort((one, other) => compareText(nameOf(one), nameOf(other)));
  const title = isResource ? t("records.accessTab.who") : t("records.accessTab.what");
  const count = new Set(rows.map(({ row }) => (isResource ? row.user.id : row.resource.id))).size;
  const ask = new URLSearchParams({ view: isResource ? "who" : "what", ...question }).toString();
  return (
    <Panel
      // The count is known only if every row was read.
      title={data.total > data.data.length ? title : t("common.titleCount", { title, count })}
      {...(rows.length === 0 ? {} : { about: <AccessNote ofResource={isResource} showsBeginning /> })}
      actions={
        <Button component={Link} to={`/access?${ask}`} size="xs" variant="default">
          {t("records.accessTab.ask")}
        </Button>
      }
    >
      {rows.length === 0 ? (
        <EmptyState
          isPart
          empty={{
            title: isResource ? t("records.accessTab.nobody") : t("records.accessTab.nothing"),
            ...(refusal === undefined
              ? {
                  text: isResource ? t("records.accessTab.nobodyText") : t("records.accessTab.nothingText"),
                  action: createPolicy,
                  guide: "console#policies",
                }
              : { text: t(`access.reasons.${refusal}`) }),
          }}
        />
      ) : (
        <Stack gap="xs">
          <Table.ScrollContainer
            minWidth={0}
            type="native"
            tabIndex={0}
            role="group"
            aria-label={t("records.tabs.access")}
          >
            <Table className="record-table stacks">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>
                    {isResource ? t("access.found.columns.user") : t("access.found.columns.resource")}
                  </Table.Th>
                  {showsDevices && <Table.Th>{t("access.found.columns.devices")}</Table.Th>}
                  <Table.Th>{t("access.found.columns.policy")}</Table.Th>
                  <Table.Th>{t("records.accessTab.since")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map((folded) => {
                  const { row, devices } = folded;
                  return (
                    <Table.Tr key={`${row.user.id} ${row.resource.id} ${row.policy.id}`}>
                      <Table.Td>
                        {isResource ? (
                          <RecordLink to={`/users/${row.user.id}`}>{row.user.name}</RecordLink>
                        ) : (
                          <RecordLink to={`/resources/${row.resource.id}`}>{row.resource.name}</RecordLink>
                        )}
                      </Table.Td>
                      {showsDevices && (
                        <Table.Td data-label={t("access.found.columns.devices")}>
                          <RecordLinks path="devices" records={devices} none={t("records.accessTab.noDevice")} />
                        </Table.Td>
                      )}
                      <Table.Td data-label={t("access.found.columns.policy")}>
                        <RecordLink to={`/policies/${row.policy.id}`}>{row.policy.name}</RecordLink>
                      </Table.Td>
                      <Table.Td data-label={t("records.accessTab.since")} className="one-line">
                        {probes === undefined ? (
                          <Skeleton height={12} width={80} aria-busy />
                        ) : (
                          formatSince(sinceOf(folded, probes))
                        )}
                      </Table.Td>
                    </Table.Tr>
                  );
                })}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {data.total > data.data.length && (
            <Group>
              <Text size="sm" c="dimmed">
                {t("records.accessTab.more", { count: data.total - data.data.length })}
              </Text>
            </Group>
          )}
        </Stack>
      )}
    </Panel>
  );
}

/** Access at earlier times. Undefined while it loads. */
function useProbes(
  question: Readonly<Record<string, string>>,
  createdAt: string,
  enabled: boolean,
): readonly Probe[] | undefined {
  // The times stay the same while the tab is shown.
  const [now] = useState(Date.now);
  const history = useAccessHistory(enabled);
  const times = history === undefined ? [] : probeTimes(now, history.begins);
  const probes = useQueries({
    queries: times.map((time) => ({
      queryKey: [source.path, question, time.at],
      enabled,
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<Probe> => {
        // The record did not exist then, so nothing was reached.
        if (Date.parse(time.at) < Date.parse(createdAt)) return { ...time, rows: [] };
        try {
          return { ...time, rows: (await source.read({ ...question, at: time.at, limit: mostRows }, signal)).data };
        } catch (error) {
          if (!(error instanceof GatehouseError)) throw error;
          // The configuration of that time does not contain the record, so nothing was reached.
          if (error.code === "not_found") return { ...time, rows: [] };
          // Old entries were just deleted.
          if (error.code === "before_history") return { ...time, rows: undefined };
          throw error;
        }
      },
    })),
    combine: (results) =>
      results.some(({ isPending }) => isPending) ? undefined : results.flatMap(({ data }) => data ?? []),
  });
  return history === undefined ? undefined : probes;
}

function formatSince(since: Since | undefined): ReactNode {
  if (since === undefined) return absent;
  if (since.kind === "beginning") return t("records.accessTab.unknown");
  return since.kind === "within"
    ? t("records.accessTab.within", { count: since.days })
    : t("records.accessTab.before", { count: since.days });
}
