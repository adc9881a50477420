/** Whether a gateway enforces the current configuration, and the reason if it does not. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Alert, Box, Button, Code, Skeleton, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ComponentProps, useId } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { Absent } from "../../records/absent.tsx";
import { Facts, Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status, type Tone } from "../../records/status.tsx";
import { explainSync, formatLag, formatSync, type GatewaySync } from "./format-sync.ts";

interface GatewaySyncPanelProps {
  readonly id: string;
  /** The polling interval, in milliseconds. */
  readonly refreshMs: number;
}

export function GatewaySyncPanel({ id, refreshMs }: GatewaySyncPanelProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["/tenants/gateways/{id}/sync", id],
    queryFn: ({ signal }) => api.get("/tenants/gateways/{id}/sync", { path: { id }, signal }),
    refetchInterval: refreshMs,
  });
  const canWrite = usePermission("gateways:write");
  const report = useMutation({
    mutationFn: async () => {
      const { status, error } = await api.post("/tenants/gateways/{id}/test-configuration", { path: { id } });
      const { lastOnline, deployedOn } = await api.get("/tenants/gateways/{id}", { path: { id } });
      return { status, error, lastOnline, deployedOn };
    },
  });
  const isShown = report.data !== undefined;
  const area = useId();
  return (
    <Panel
      title={t("gateways.sync.title")}
      actions={
        canWrite && (
          <Button
            size="xs"
            variant="default"
            aria-expanded={isShown}
            aria-controls={area}
            loading={report.isPending}
            onClick={() => (isShown ? report.reset() : report.mutate())}
          >
            {isShown ? t("gateways.sync.lastReport.hide") : t("gateways.sync.lastReport.show")}
          </Button>
        )
      }
    >
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Stack gap="xs" aria-busy>
          <Skeleton height={14} width="60%" />
          <Skeleton height={14} width="40%" />
        </Stack>
      ) : (
        <SyncState sync={data} />
      )}
      <div id={area} aria-live="polite">
        {report.data !== undefined && <LastReport report={report.data} />}
        {report.error !== null && <Reported tone="bad" words={t("gateways.sync.lastReport.failed")} />}
      </div>
    </Panel>
  );
}

type Tested = ResultOf<"/tenants/gateways/{id}/test-configuration", "post">;
type Gateway = ResultOf<"/tenants/gateways/{id}", "get">;

/** The result of the test, and the times on which it is based. */
interface Report {
  readonly status: Tested["status"];
  readonly error: Tested["error"] | undefined;
  readonly lastOnline: Gateway["lastOnline"] | undefined;
  readonly deployedOn: Gateway["deployedOn"];
}

const tones: Readonly<Record<Report["status"], Tone>> = {
  ONLINE: "good",
  MAINTENANCE: "waiting",
  NOT_REACHABLE: "bad",
  ERROR: "bad",
  UNRECOGNIZED: "idle",
};

function LastReport({ report: { status, error, lastOnline, deployedOn } }: { readonly report: Report }) {
  return (
    <Reported
      tone={tones[status]}
      words={t(`gateways.sync.lastReport.${status}`)}
      facts={[
        { label: t("gateways.fields.lastOnline"), value: <RelativeTime at={lastOnline} /> },
        {
          label: t("gateways.fields.deployedOn"),
          value: <RelativeTime at={deployedOn} never={t("gateways.fields.deployedNever")} />,
        },
        ...(error === undefined ? [] : [{ label: t("gateways.sync.lastReport.error"), value: error }]),
      ]}
    />
  );
}

interface ReportedProps {
  readonly tone: Tone;
  readonly words: string;
  readonly facts?: ComponentProps<typeof Facts>["facts"];
}

function Reported({ tone, words, facts = [] }: ReportedProps) {
  const result = <Status tone={tone}>{words}</Status>;
  return (
    <Box component="section" className="form-section" mt="md">
      <Title order={3} mb="xs">
        {t("gateways.sync.lastReport.title")}
      </Title>
      <Facts facts={[{ label: t("gateways.sync.lastReport.status"), value: result }, ...facts]} />
    </Box>
  );
}

function SyncState({ sync }: { readonly sync: GatewaySync }) {
  const { text, tone } = formatSync(sync);
  return (
    <Stack gap="md">
      <div>
        <Status tone={tone}>{text}</Status>
        <Text size="sm" c="dimmed" mt={4}>
          {explainSync(sync)}
        </Text>
      </div>
      {sync.error !== undefined && (
        <Alert color="red" title={t("gateways.sync.error")}>
          <Code block style={{ whiteSpace: "pre-wrap" }}>
            {sync.error}
          </Code>
        </Alert>
      )}
      <Facts
        facts={[
          { label: t("gateways.sync.applied"), value: <Point point={sync.applied} none={t("gateways.sync.none")} /> },
          { label: t("gateways.sync.sent"), value: <Point point={sync.sent} none={t("gateways.sync.none")} /> },
          {
            label: t("gateways.sync.desired"),
            value: <Point point={sync.wanted} none={t("gateways.sync.noDesired")} />,
          },
          { label: t("gateways.sync.delay"), value: formatLag(sync) },
          {
            label: t("gateways.sync.organisation"),
            value: t("gateways.sync.generation", { generation: sync.generation }),
          },
        ]}
      />
      <Text size="sm" c="dimmed">
        {t("gateways.sync.generationHelp")}
      </Text>
    </Stack>
  );
}

function Point({ point, none }: { readonly point: GatewaySync["wanted"]; readonly none: string }) {
  if (point === null) return <Absent>{none}</Absent>;
  return (
    <RichText
      message="gateways.sync.point"
      values={{ generation: point.generation }}
      elements={{ time: <RelativeTime at={point.since} /> }}
    />
  );
}
