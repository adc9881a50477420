import { Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type ListQuery, type PagedSource, paged } from "../../app/api.ts";
import { ProblemNotice } from "../../app/problem-notice.tsx";
import { usePermission } from "../../app/session.ts";
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

/** One reordering is as many events as it moved policies: all of it is put back. */
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
      const places = new Map(moves.map(({ target, before }) => [target.id, Number(before?.order)]));
      const current = all.filter(({ isDefault }) => !isDefault);
      return { current: current.map(({ id }) => id), before: orderBefore(current, places), moved: places.size };
    },
  });
  if (!canRead)
    return <Text c="dimmed">Your key may not read policies, so their order cannot be put back with it.</Text>;
  if (error !== null) return <ProblemNotice error={error} retry={refetch} />;
  if (data === undefined) return <Skeleton height={48} aria-busy />;
  if (data.before.join() === data.current.join()) {
    return <Text c="dimmed">The order is now as it was before this: there is nothing to put back.</Text>;
  }
  return (
    <Stack gap="sm">
      <Text>
        {data.moved === 1 ? "One policy" : `${data.moved} policies`} moved with this. Put back, each stands where it
        stood before; policies that were made since keep their places.
      </Text>
      <Group>
        <Button onClick={() => setReviewing(true)}>Put the order back</Button>
      </Group>
      {reviewing && (
        <ReviewDialog
          title="Put the order of policies back"
          changes={[{ method: "POST", path: "/tenants/policies/reorder", body: { type, policies: data.before } }]}
          label="Put the order back"
          close={() => setReviewing(false)}
          done={() => notifications.show({ message: "The order is as it was before", color: "green" })}
        />
      )}
    </Stack>
  );
}
