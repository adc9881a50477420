/** The effect of a planned change on access at this moment, if access depends on conditions. */
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../app/api.ts";
import { t } from "../messages/i18n.ts";
import { type Effect, EffectCounts } from "./effect-panel.tsx";
import type { PlannedChange } from "./planned-change.ts";

interface EffectNowProps {
  readonly changes: readonly PlannedChange[];
  /** The effect in all circumstances. */
  readonly effect: Effect;
}

/** Shows nothing if the effect at this moment is the same. */
export function EffectNow({ changes, effect }: EffectNowProps) {
  const { data: now } = useQuery({
    queryKey: ["preview", "now", changes],
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
    queryFn: ({ signal }) =>
      api.post("/tenants/policies/preview", {
        body: { changes: [...changes], context: { time: new Date().toISOString() }, page: { limit: 0 } },
        signal,
      }),
  });
  if (now === undefined) return null;
  if (now.gained.pairs === effect.gained.pairs && now.lost.pairs === effect.lost.pairs && isSomething(now)) return null;
  return (
    <Stack gap={4} mt="lg">
      <Text fw={600}>{t("records.effect.planned.now")}</Text>
      {isSomething(now) ? (
        <EffectCounts effect={now} tense="planned" />
      ) : (
        <Text>{t("records.effect.planned.nowNone")}</Text>
      )}
    </Stack>
  );
}

function isSomething({ gained, lost }: Pick<Effect, "gained" | "lost">): boolean {
  return gained.pairs + lost.pairs > 0;
}
