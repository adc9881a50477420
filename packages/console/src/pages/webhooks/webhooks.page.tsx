import type { ItemAt } from "@gatehouse/client/calls";
import { whole } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { Moment } from "../../records/moment.tsx";
import { Status } from "../../records/status.tsx";

type Webhook = ItemAt<"/tenants/webhooks">;

function State({ webhook: { active, failingSince, disabledReason } }: { readonly webhook: Webhook }) {
  if (!active) return <Status mood="idle">{disabledReason === undefined ? "Off" : "Switched off by Gatehouse"}</Status>;
  return failingSince === undefined ? <Status mood="good">Active</Status> : <Status mood="bad">Failing</Status>;
}

const definition: ListDefinition<Webhook> = {
  source: whole("/tenants/webhooks"),
  noun: "webhooks",
  search: { label: "Name or URL", by: ({ name, url }) => `${name} ${url}` },
  defaultSort: "name",
  columns: [
    { key: "name", title: "Name", sortBy: ({ name }) => name, cell: ({ name }) => name },
    { key: "state", title: "State", cell: (webhook) => <State webhook={webhook} /> },
    { key: "url", title: "URL", from: "sm", cell: ({ url }) => url },
    {
      key: "events",
      title: "Events",
      from: "md",
      cell: ({ events }) => (events.length === 0 ? "All" : events.join(", ")),
    },
    {
      key: "failingSince",
      title: "Failing since",
      from: "lg",
      cell: ({ failingSince }) => <Moment at={failingSince} never="–" />,
    },
  ],
  empty: { title: "No webhooks yet", text: "A webhook tells another program of each change, as it happens." },
};

export function WebhooksListPage() {
  return <RecordList title="Webhooks" definition={definition} />;
}
