import type { ResultOf } from "@gatehouse/client/calls";
import { GatehouseError } from "@gatehouse/client/errors";
import { Button, Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { t } from "../../messages/i18n.ts";
import { EffectPanel } from "../../records/effect-panel.tsx";
import { Panel } from "../../records/record-page.tsx";

/** The interval at which an effect that is being computed is read again, in milliseconds. */
const pendingIntervalMs = 2_000;

/** Types whose every change has a stored effect. Other types have one for some changes. */
const alwaysWithEffect = ["policy", "admission-rule"];

interface EventEffectProps {
  readonly id: string;
  readonly targetType: string;
  readonly operation: string;
}

export function EventEffect({ id, targetType, operation }: EventEffectProps) {
  const [isShown, setShown] = useState(alwaysWithEffect.includes(targetType));
  const { data, error, refetch } = useQuery<ResultOf<"/tenants/events/{id}/effect", "get">>({
    queryKey: ["/tenants/events/{id}/effect", id],
    enabled: isShown,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state }) => (state.data?.pending === true ? pendingIntervalMs : false),
    queryFn: ({ signal }) => api.get("/tenants/events/{id}/effect", { path: { id }, signal }),
  });
  const hasNone = error instanceof GatehouseError && error.status === 404;
  return (
    <Panel title={t("events.effect.title")}>
      {!isShown ? (
        <Button variant="default" size="xs" onClick={() => setShown(true)}>
          {t("events.effect.show")}
        </Button>
      ) : hasNone ? (
        <Text c="dimmed">{error.problem.detail}</Text>
      ) : error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={60} aria-busy />
      ) : (
        <Stack gap="sm">
          {data.overrideReason !== undefined && (
            <Text>{t("events.effect.override", { reason: data.overrideReason })}</Text>
          )}
          {data.pending === true ? (
            <Text role="status">{t("events.effect.pending")}</Text>
          ) : (
            <EffectPanel
              effect={data}
              planned={false}
              isConditional={operation.startsWith("update") && alwaysWithEffect.includes(targetType)}
            />
          )}
        </Stack>
      )}
    </Panel>
  );
}
