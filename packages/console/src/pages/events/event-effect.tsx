import { GatehouseError } from "@gatehouse/client/errors";
import { Button, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { EffectPanel } from "../../records/effect-panel.tsx";
import { Panel } from "../../records/record-page.tsx";

/** Every change of these has an effect that is stored; of others, some have. */
const alwaysAboutAccess = ["policy", "admission-rule"];

interface EventEffectProps {
  readonly id: string;
  readonly targetType: string;
}

export function EventEffect({ id, targetType }: EventEffectProps) {
  const [asked, setAsked] = useState(alwaysAboutAccess.includes(targetType));
  const { data, error, refetch } = useQuery({
    queryKey: ["/tenants/events/{id}/effect", id],
    enabled: asked,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => api.get("/tenants/events/{id}/effect", { path: { id }, signal }),
  });
  const hasNone = error instanceof GatehouseError && error.status === 404;
  return (
    <Panel title="Effect on access">
      {!asked ? (
        <Button variant="default" size="xs" onClick={() => setAsked(true)}>
          Show who gained and who lost access
        </Button>
      ) : hasNone ? (
        <Text c="dimmed">{error.problem.detail}</Text>
      ) : error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={60} aria-busy />
      ) : (
        <Stack gap="sm">
          {data.overrideReason !== undefined && <Text>Access tests were to be overridden: {data.overrideReason}</Text>}
          <EffectPanel effect={data} planned={false} />
        </Stack>
      )}
    </Panel>
  );
}
