/** Each subject and resource that planned changes affect, page by page. */
import { Button, Group, Skeleton, Stack, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../app/api.ts";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { formatSubject } from "./format-subject.ts";
import type { PlannedChange } from "./planned-change.ts";
import { Status } from "./status.tsx";
import { WholeWords } from "./whole-words.tsx";

const rowsOnPage = 100;

interface EffectRowsProps {
  readonly changes: readonly PlannedChange[];
  readonly total: number;
}

export function EffectRows({ changes, total }: EffectRowsProps) {
  const [offset, setOffset] = useState(0);
  const { data, error, refetch } = useQuery({
    // Like the preview itself, it describes a change that is not made yet.
    queryKey: ["preview", changes, offset],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api.post("/tenants/policies/preview", {
        body: { changes: [...changes], page: { limit: rowsOnPage, offset } },
        signal,
      }),
  });
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={160} aria-busy />;
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">
        {t("records.effect.counting")}
      </Text>
      <Table.ScrollContainer
        minWidth={0}
        className="effect-table"
        type="native"
        tabIndex={0}
        role="group"
        aria-label={t("records.effect.rows")}
      >
        <Table className="record-table stacks" aria-label={t("records.effect.rows")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("records.effect.columns.subject")}</Table.Th>
              <Table.Th>{t("records.effect.columns.resource")}</Table.Th>
              <Table.Th>{t("records.effect.columns.access")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.rows.map((row) => (
              <Table.Tr key={`${row.change} ${row.subject.id} ${row.resource?.id ?? ""}`}>
                <Table.Td data-label={t("records.effect.columns.subject")}>
                  <bdi>
                    <WholeWords text={formatSubject(row.subject)} />
                  </bdi>
                </Table.Td>
                <Table.Td data-label={t("records.effect.columns.resource")}>
                  <bdi>{row.resource?.name ?? t("common.theInternet")}</bdi>
                </Table.Td>
                <Table.Td>
                  <Status tone={row.change === "gained" ? "good" : "bad"}>
                    {t(`records.effect.${row.change}`, {
                      before: t(`records.access.${row.before}`),
                      after: t(`records.access.${row.after}`),
                    })}
                  </Status>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {total > rowsOnPage && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {t("records.effect.rowRange", {
              first: offset + 1,
              last: Math.min(offset + rowsOnPage, total),
              total,
            })}
          </Text>
          <Group gap="xs">
            <Button size="xs" variant="default" disabled={offset === 0} onClick={() => setOffset(offset - rowsOnPage)}>
              {t("lists.pages.previous")}
            </Button>
            <Button
              size="xs"
              variant="default"
              disabled={offset + rowsOnPage >= total}
              onClick={() => setOffset(offset + rowsOnPage)}
            >
              {t("lists.pages.next")}
            </Button>
          </Group>
        </Group>
      )}
    </Stack>
  );
}
