/** When a record was last changed and, if the audit record says so, by whom. */
import { useQuery } from "@tanstack/react-query";
import { paged } from "../app/api.ts";
import { usePermission } from "../app/session.ts";
import { RichText } from "../messages/rich-text.tsx";
import { formatActor } from "./format-actor.ts";
import { RecordLink } from "./record-link.tsx";
import { RelativeTime } from "./relative-time.tsx";

const events = paged("/tenants/events");
/** One command writes a record and its event, in less than this time. */
const mostDistanceMs = 1_000;

interface LastChangedProps {
  readonly record: { readonly id: string; readonly updatedAt: string };
}

export function LastChanged({ record: { id, updatedAt } }: LastChangedProps) {
  const { data: last } = useQuery({
    queryKey: [events.path, "last of", id, updatedAt],
    enabled: usePermission("events:read"),
    queryFn: async ({ signal }) => {
      const query = { "filter[target.id]": id, sort: "-position", limit: 1 };
      return (await events.read(query, signal)).data[0] ?? null;
    },
  });
  const time = <RelativeTime at={updatedAt} />;
  // Events can be pruned, and an event such as that of a new order does not change the record itself.
  if (!last || Math.abs(Date.parse(last.createdAt) - Date.parse(updatedAt)) > mostDistanceMs) return time;
  return (
    <RichText
      message="records.changedBy"
      values={{ actor: formatActor(last.actor) }}
      elements={{ time, event: <RecordLink to={`/events/${last.id}`} inText /> }}
    />
  );
}
