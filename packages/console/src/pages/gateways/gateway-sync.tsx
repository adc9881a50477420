/** Whether a gateway enforces what it should, and if not, why. */
import { Alert, Code, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { Facts, Panel } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { Status } from "../../records/status.tsx";
import { explainSync, formatLag, formatSync, type GatewaySync } from "./format-sync.ts";

interface GatewaySyncPanelProps {
  readonly id: string;
  /** How often it is read anew, in milliseconds. */
  readonly refreshMs: number;
}

export function GatewaySyncPanel({ id, refreshMs }: GatewaySyncPanelProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["/tenants/gateways/{id}/sync", id],
    queryFn: ({ signal }) => api.get("/tenants/gateways/{id}/sync", { path: { id }, signal }),
    refetchInterval: refreshMs,
  });
  return (
    <Panel title="Configuration">
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Stack gap="xs" aria-busy>
          <Skeleton height={14} width="60%" />
          <Skeleton height={14} width="40%" />
        </Stack>
      ) : (
        <Told sync={data} />
      )}
    </Panel>
  );
}

function Told({ sync }: { readonly sync: GatewaySync }) {
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
        <Alert color="red" variant="outline" title="Why it refused">
          <Code block style={{ whiteSpace: "pre-wrap" }}>
            {sync.error}
          </Code>
        </Alert>
      )}
      <Facts
        facts={[
          { label: "Enforces", value: <Point point={sync.applied} none="Nothing yet" /> },
          { label: "Was sent", value: <Point point={sync.sent} none="Nothing yet" /> },
          { label: "Should enforce", value: <Point point={sync.wanted} none="Not worked out: it never connected" /> },
          { label: sync.state === "applied" ? "Took" : "Lag", value: formatLag(sync) },
          { label: "The network is at", value: `generation ${sync.generation}` },
        ]}
      />
      <Text size="sm" c="dimmed">
        Each change of the network is a generation. One that changes nothing for this gateway is not sent to it.
      </Text>
    </Stack>
  );
}

function Point({ point, none }: { readonly point: GatewaySync["wanted"]; readonly none: string }) {
  if (point === null) return <Text c="dimmed">{none}</Text>;
  return (
    <>
      generation {point.generation}, <RelativeTime at={point.since} />
    </>
  );
}
