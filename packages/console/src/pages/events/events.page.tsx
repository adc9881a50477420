import { targetTypes } from "@gatehouse/contract/event-types";
import { paged } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { FollowLive } from "./follow-live.tsx";
import { formatOperation } from "./format-operation.ts";
import { formatTarget } from "./format-target.ts";
import type { Event } from "./restore.ts";

const definition: ListDefinition<Event> = {
  source: paged("/tenants/events"),
  noun: "events",
  search: { label: "Name of what was changed", by: "target.name" },
  defaultSort: "-position",
  columns: [
    { key: "createdAt", title: "When", sortBy: "createdAt", cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
    {
      key: "operation",
      title: "What",
      cell: ({ id, operation }) => <RecordLink to={`/events/${id}`}>{formatOperation(operation)}</RecordLink>,
    },
    { key: "target", title: "Of", cell: ({ target }) => target.name ?? formatTarget(target.type) },
    { key: "type", title: "Kind", visibleFrom: "md", cell: ({ target }) => formatTarget(target.type) },
    { key: "actor", title: "By", visibleFrom: "sm", cell: ({ actor }) => actor.name },
    { key: "from", title: "From", visibleFrom: "lg", cell: ({ sourceAddress }) => sourceAddress ?? "–" },
  ],
  filters: [
    {
      field: "target.type",
      title: "Kind of record",
      options: targetTypes.map((value) => ({ value, label: formatTarget(value) })),
    },
    { field: "from", title: "From", kind: "date-time", parameter: "filter[createdAt][gte]" },
    { field: "to", title: "Until", kind: "date-time", parameter: "filter[createdAt][lte]" },
    { field: "operation", title: "Operation", kind: "part", isAdvanced: true },
    { field: "actor.name", title: "By whom", kind: "part", isAdvanced: true },
    {
      field: "actor.type",
      title: "Kind of actor",
      isAdvanced: true,
      options: [
        { value: "api-key", label: "A key" },
        { value: "operator", label: "The operator" },
        { value: "system", label: "Gatehouse itself" },
      ],
    },
    { field: "sourceAddress", title: "Source address", kind: "text", isAdvanced: true },
    { field: "target.id", title: "Id of the record", kind: "text", isAdvanced: true },
    { field: "actor.id", title: "Id of the key", kind: "text", isAdvanced: true },
    { field: "requestId", title: "Request id", kind: "text", isAdvanced: true },
    { field: "generation", title: "Generation", kind: "text", isAdvanced: true },
  ],
  empty: {
    title: "Nothing has happened yet",
    text: "Every change is recorded here: who made it, when, and what was before.",
  },
};

export function EventsListPage() {
  return <RecordList title="Events" definition={definition} actions={<FollowLive definition={definition} />} />;
}
