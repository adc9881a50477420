import type { ItemAt } from "@gatehouse/client/calls";
import { paged } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { Moment } from "../../records/moment.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { FollowLive } from "./follow-live.tsx";
import { sayOperation } from "./say-operation.ts";

const definition: ListDefinition<ItemAt<"/tenants/events">> = {
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
    { key: "target", title: "Of", cell: ({ target }) => target.name ?? target.type },
    { key: "actor", title: "By", from: "sm", cell: ({ actor }) => actor.name },
    { key: "from", title: "From", from: "lg", cell: ({ sourceAddress }) => sourceAddress ?? "–" },
  ],
  filters: [
    {
      field: "target.type",
      title: "Kind of record",
      options: [
        "user",
        "group",
        "device",
        "gateway",
        "resource",
        "address",
        "protocol",
        "admission-rule",
        "policy",
        "access-test",
        "api-key",
        "webhook",
      ].map((value) => ({ value, label: value.charAt(0).toUpperCase() + value.slice(1).replace("-", " ") })),
    },
    {
      field: "actor.type",
      title: "By",
      options: [
        { value: "api-key", label: "A key" },
        { value: "operator", label: "The operator" },
        { value: "system", label: "Gatehouse itself" },
      ],
    },
  ],
  empty: {
    title: "Nothing has happened yet",
    text: "Every change is recorded here: who made it, when, and what was before.",
  },
};

export function EventsListPage() {
  return <RecordList title="Events" definition={definition} actions={<FollowLive />} />;
}
