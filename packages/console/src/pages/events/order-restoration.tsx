import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type ListQuery, type PagedSource, paged } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { type Event, orderBefore } from "./restore.ts";

const events = paged("/tenants/events");
const policies = paged("/tenants/policies");
const pageLimit = 100;

async function readAll<Row>(source: PagedSource<Row>, query: ListQuery, signal: AbortSignal): Promise<readonly Row[]> {
  const found: Row[] = [];
  for (;;) {
    const page = await source.read({ ...query, limit: pageLimit, offset: found.length }, signal);
    found.push(...page.data);
    if (page.data.length === 0 || found.length >= page.total) return found;
  }
}

/** One reordering has an event for each policy that it moved. This restores all of them. */
export function OrderRestoration({ event }: { readonly event: Event }) {
  const type = String(event.before?.type);
  const canRead = usePermission("policies:read");
  const [reviewing, setReviewing] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ["/tenants/policies", "order before", event.generation],
    enabled: canRead,
    queryFn: async ({ signal }) => {
      const [moves, all] = await Promise.all([
        readAll(
          events,
          {
            "filter[generation]": event.generation,
            "filter[operation]": event.operation,
            sort: "position",
          },
          signal,
        ),
        readAll(policies, { "filter[type]": type, sort: "order" }, signal),
      ]);
      const positions = new Map(moves.map(({ target, before }) => [target.id, Number(before?.order)]));
      const current = all.filter(({ isDefault }) => !isDefault);
      return { current: current.map(({ id }) => id), before: orderBefore(current, positions), moved: positions.size };
    },
  });
  if (!canRead) return <Text c="dimmed">{t("events.restore.order.notPermitted")}</Text>;
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={48} aria-busy />;
  if (data.before.join() === data.current.join()) {
    return <Text c="dimmed">{t("events.restore.order.same")}</Text>;
  }
  return (
    <Stack gap="sm">
      <Text>{t("events.restore.order.text", { count: data.moved })}</Text>
      <Group>
        <Button onClick={() => setReviewing(true)}>{t("events.restore.order.label")}</Button>
      </Group>
      {reviewing && (
        <ReviewDialog
          title={t("events.restore.order.title")}
          changes={[{ method: "POST", path: "/tenants/policies/reorder", body: { type, policies: data.before } }]}
          label={t("events.restore.order.label")}
          close={() => setReviewing(false)}
          done={() => notifications.show({ message: t("events.restore.order.done"), color: "green" })}
        />
      )}
    </Stack>
  );
}
