import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { NewButton } from "../../records/new-button.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { UrlValue } from "../../records/url-value.tsx";
import { bodyOf, newWebhook, webhookFields } from "./webhook-fields.ts";
import { EventsOf, StateOfWebhook, stateOf, type Webhook } from "./webhook-state.tsx";

const definition: ListDefinition<Webhook> = {
  source: whole("/tenants/webhooks"),
  noun: t("webhooks.noun"),
  search: { label: t("webhooks.searchLabel"), by: ({ name, url }) => `${name} ${url}` },
  defaultSort: "name",
  columns: [
    nameColumn("webhooks", "whole"),
    {
      key: "state",
      title: t("webhooks.state.label"),
      sortBy: (webhook) => stateOf(webhook).text,
      cell: (webhook) => <StateOfWebhook webhook={webhook} />,
    },
    {
      key: "url",
      title: t("webhooks.fields.url"),
      sortBy: ({ url }) => url,
      isBelow: true,
      cell: ({ url }) => <UrlValue url={url} isInList />,
    },
    {
      key: "events",
      title: t("webhooks.fields.events"),
      visibleFrom: "md",
      cell: (webhook) => <EventsOf webhook={webhook} />,
    },
    {
      key: "failingSince",
      title: t("webhooks.fields.failingSince"),
      sortBy: ({ failingSince = "" }) => failingSince,
      visibleFrom: "lg",
      cell: ({ failingSince }) => <RelativeTime at={failingSince} never="–" />,
    },
  ],
  filters: [
    {
      field: "state",
      title: t("webhooks.state.label"),
      options: [
        { value: "active", label: t("webhooks.state.active") },
        { value: "failing", label: t("webhooks.state.failing") },
        { value: "off", label: t("webhooks.state.inactive") },
      ],
      matches: ({ active, failingSince }, value) =>
        value === (active ? (failingSince === undefined ? "active" : "failing") : "off"),
    },
  ],
  empty: {
    title: t("webhooks.empty.title"),
    text: t("webhooks.empty.text"),
    action: { label: t("webhooks.create"), to: "/webhooks?new=1", permission: "webhooks:write" },
    guide: "webhooks#create-a-webhook",
  },
};

export function WebhooksListPage() {
  const navigate = useNavigate();
  const [created, setCreated] = useState<{ readonly id: string; readonly name: string; readonly secret: string }>();
  return (
    <>
      <RecordList
        title={t("webhooks.title")}
        definition={definition}
        actions={
          <NewButton
            label={t("webhooks.create")}
            permission="webhooks:write"
            dialog={(close) => (
              <RecordForm
                title={t("webhooks.create")}
                fields={webhookFields}
                initial={newWebhook}
                submitLabel={t("common.create")}
                submit={async (values) => {
                  const { description, ...rest } = bodyOf(values);
                  const body = { ...rest, ...(description === "" ? {} : { description }) };
                  setCreated(await api.post("/tenants/webhooks", { body }));
                }}
                close={close}
              />
            )}
          />
        }
      />
      {created !== undefined && (
        <SecretOnce
          title={t("webhooks.secret.title", { name: created.name })}
          secret={created.secret}
          close={() => {
            setCreated(undefined);
            void navigate({ to: `/webhooks/${created.id}` });
          }}
        >
          {t("webhooks.secret.text")}
        </SecretOnce>
      )}
    </>
  );
}
