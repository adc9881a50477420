import { targetTypes } from "@gatehouse/contract/event-types";
import { paged } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { Moment } from "../../records/moment.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { FollowLive } from "./follow-live.tsx";
import type { Event } from "./restore.ts";
import { sayOperation } from "./say-operation.ts";
import { sayTarget } from "./say-target.ts";

const definition: ListDefinition<Event> = {
  source: paged("/tenants/events"),
  noun: "events",
  search: { label: "Name of what was changed", by: "target.name" },
  defaultSort: "-position",
  columns: [
    { key: "createdAt", title: "When", sortBy: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    {
      key: "operation",
      title: "What",
      cell: ({ id, operation }) => <RecordLink to={`/events/${id}`}>{sayOperation(operation)}</RecordLink>,
    },
    { key: "target", title: "Of", cell: ({ target }) => target.name ?? sayTarget(target.type) },
    { key: "type", title: "Kind", from: "md", cell: ({ target }) => sayTarget(target.type) },
    { key: "actor", title: "By", from: "sm", cell: ({ actor }) => actor.name },
    { key: "from", title: "From", from: "lg", cell: ({ sourceAddress }) => sourceAddress ?? "–" },
  ],
  filters: [
    {
      field: "target.type",
      title: "Kind of record",
      options: targetTypes.map((value) => ({ value, label: sayTarget(value) })),
    },
    { field: "from", title: "From", kind: "moment", asks: "filter[createdAt][gte]" },
    { field: "to", title: "Until", kind: "moment", asks: "filter[createdAt][lte]" },
    { field: "operation", title: "Operation", kind: "part", isRare: true },
    { field: "actor.name", title: "By whom", kind: "part", isRare: true },
    {
      field: "actor.type",
      title: "Kind of actor",
      isRare: true,
      options: [
        { value: "api-key", label: "A key" },
        { value: "operator", label: "The operator" },
        { value: "system", label: "Gatehouse itself" },
      ],
    },
    { field: "sourceAddress", title: "Source address", kind: "text", isRare: true },
    { field: "target.id", title: "Id of the record", kind: "text", isRare: true },
    { field: "actor.id", title: "Id of the key", kind: "text", isRare: true },
    { field: "requestId", title: "Request id", kind: "text", isRare: true },
    { field: "generation", title: "Generation", kind: "text", isRare: true },
  ],
  empty: {
    title: "Nothing has happened yet",
    text: "Every change is recorded here: who made it, when, and what was before.",
  },
};

export function EventsListPage() {
  return <RecordList title="Events" definition={definition} actions={<FollowLive definition={definition} />} />;
}
