import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { bodyOf, newWebhook, webhookFields } from "./webhook-fields.ts";
import { StateOfWebhook, type Webhook } from "./webhook-state.tsx";

const definition: ListDefinition<Webhook> = {
  source: whole("/tenants/webhooks"),
  noun: "webhooks",
  search: { label: "Name or URL", by: ({ name, url }) => `${name} ${url}` },
  defaultSort: "name",
  columns: [
    nameColumn("webhooks", "whole"),
    { key: "state", title: "State", cell: (webhook) => <StateOfWebhook webhook={webhook} /> },
    {
      key: "url",
      title: "URL",
      visibleFrom: "sm",
      cell: ({ url }) => <span style={{ overflowWrap: "anywhere" }}>{url}</span>,
    },
    {
      key: "events",
      title: "Events",
      visibleFrom: "md",
      cell: ({ events }) => (events.length === 0 ? "All" : events.join(", ")),
    },
    {
      key: "failingSince",
      title: "Failing since",
      visibleFrom: "lg",
      cell: ({ failingSince }) => <RelativeTime at={failingSince} never="–" />,
    },
  ],
  filters: [
    {
      field: "state",
      title: "State",
      options: [
        { value: "active", label: "Active" },
        { value: "failing", label: "Failing" },
        { value: "off", label: "Off" },
      ],
      matches: ({ active, failingSince }, value) =>
        value === (active ? (failingSince === undefined ? "active" : "failing") : "off"),
    },
  ],
  empty: { title: "No webhooks yet", text: "A webhook tells another program of each change, as it happens." },
};

export function WebhooksListPage() {
  const navigate = useNavigate();
  const [made, setMade] = useState<{ readonly id: string; readonly name: string; readonly secret: string }>();
  return (
    <>
      <RecordList
        title="Webhooks"
        definition={definition}
        actions={
          <NewButton
            label="Create a webhook"
            permission="webhooks:write"
            dialog={(close) => (
              <RecordForm
                title="Create a webhook"
                fields={webhookFields}
                initial={newWebhook}
                submitLabel="Create"
                submit={async (values) => {
                  const { description, ...rest } = bodyOf(values);
                  const body = { ...rest, ...(description === "" ? {} : { description }) };
                  setMade(await api.post("/tenants/webhooks", { body }));
                }}
                close={close}
              />
            )}
          />
        }
      />
      {made !== undefined && (
        <SecretOnce
          title={`The secret of ${made.name}`}
          secret={made.secret}
          close={() => {
            setMade(undefined);
            void navigate({ to: `/webhooks/${made.id}` });
          }}
        >
          The receiver checks each message's signature with it.
        </SecretOnce>
      )}
    </>
  );
}
