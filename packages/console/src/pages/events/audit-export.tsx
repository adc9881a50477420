/** The export of the audit record with its signatures, and how to verify the file elsewhere. */
import { Button, Code, Group, Skeleton, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../../app/api.ts";
import { CopyText } from "../../app/copy.tsx";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { queryOf } from "../../lists/list-rows.ts";
import { useListState } from "../../lists/list-state.ts";
import { t } from "../../messages/i18n.ts";
import { Dialog } from "../../records/dialog.tsx";
import { Intro } from "../../records/intro.tsx";
import { Facts } from "../../records/record-page.tsx";
import type { Event } from "./event.ts";

const keyPath = "/tenants/events/signing-key";

export function AuditExport({ definition }: { readonly definition: ListDefinition<Event> }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={open}>
        {t("events.export.label")}
      </Button>
      {opened && (
        <Dialog onClose={close} title={t("events.export.title")}>
          <Export definition={definition} />
        </Dialog>
      )}
    </>
  );
}

function Export({ definition }: { readonly definition: ListDefinition<Event> }) {
  const fields = useMemo(() => definition.filters?.map(({ field }) => field) ?? [], [definition]);
  const { state } = useListState(fields, definition.defaultSort);
  const { limit: _limit, offset: _offset, sort: _sort, ...query } = queryOf(definition, state);
  const isFiltered = Object.keys(query).length > 0;
  // The browser downloads the stream itself, so that the record does not have to fit into memory.
  const href = (format: string) =>
    `/tenants/events/export?${new URLSearchParams({ ...(query as Record<string, string>), format }).toString()}`;
  const { data, error, refetch } = useQuery({
    queryKey: [keyPath],
    queryFn: ({ signal }) => api.get("/tenants/events/signing-key", { signal }),
  });
  // The server gives this name to the file.
  const fileName = (format: string) => `audit-${new Date().toISOString().slice(0, 10)}.${format}`;
  const command = `gatehouse audit verify --file ${fileName("ndjson")} --public-key ${data?.publicKey ?? ""}`;
  return (
    <Stack>
      <Intro>{isFiltered ? t("events.export.filtered") : t("events.export.whole")}</Intro>
      <Group>
        <Button component="a" href={href("ndjson")} download={fileName("ndjson")}>
          {t("events.export.ndjson")}
        </Button>
        <Button component="a" href={href("csv")} download={fileName("csv")} variant="default">
          {t("events.export.csv")}
        </Button>
      </Group>
      <Text size="sm" c="dimmed">
        {t("events.export.formats")}
      </Text>
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={80} aria-busy />
      ) : (
        <>
          <Facts
            facts={[
              {
                label: t("events.export.key"),
                value: (
                  <Code className="value">
                    {data.algorithm} {data.publicKey}
                  </Code>
                ),
              },
            ]}
          />
          <Text size="sm">{t("events.export.verify")}</Text>
          <Code block className="value">
            {command}
          </Code>
          <Group>
            <CopyText text={command} variant="default" size="xs">
              {t("events.export.copy")}
            </CopyText>
          </Group>
        </>
      )}
    </Stack>
  );
}
