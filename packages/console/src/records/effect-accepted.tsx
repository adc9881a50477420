/** The access that invited users gain when they accept. Until then, they have none. */
import { Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../app/api.ts";
import { ProblemNotice } from "../app/problem-notice.tsx";
import { t } from "../messages/i18n.ts";
import { EffectPanel } from "./effect-panel.tsx";
import type { PlannedChange } from "./planned-change.ts";

export function EffectAccepted({ changes }: { readonly changes: readonly PlannedChange[] }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["preview", "accepted", changes],
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) =>
      api.post("/tenants/policies/preview", {
        body: { changes: [...changes], invitationsAccepted: true, page: { limit: 0 } },
        signal,
      }),
  });
  return (
    <Stack gap={4} mt="lg">
      <Text fw={600}>{t("records.effect.accepted.title")}</Text>
      {error !== null ? (
        <ProblemNotice error={error} retry={refetch} />
      ) : data === undefined ? (
        <Skeleton height={14} width="60%" aria-busy />
      ) : data.gained.pairs + data.lost.pairs + data.brokenTests.length === 0 ? (
        <Text>{t("records.effect.accepted.none")}</Text>
      ) : (
        <EffectPanel effect={data} planned />
      )}
      <Text size="sm" c="dimmed">
        {t("records.effect.accepted.devices")}
      </Text>
    </Stack>
  );
}
