import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { graceBody, graceFields, usualGrace } from "../../records/grace-field.ts";
import { MenuAction, MoreActions } from "../../records/more-actions.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { UrlValue } from "../../records/url-value.tsx";
import { useEditing } from "../../records/use-editing.ts";
import { readRecord, useAction, useRecord } from "../../records/use-record.ts";
import { Deliveries } from "./deliveries.tsx";
import { changesOf, webhookFields, webhookValues } from "./webhook-fields.ts";
import { EventsOf, StateOfWebhook, type Webhook } from "./webhook-state.tsx";

const path = "/tenants/webhooks/{id}";

const reasons = {
  GONE: t("webhooks.disabledReasons.GONE"),
  FAILING: t("webhooks.disabledReasons.FAILING"),
  BEHIND: t("webhooks.disabledReasons.BEHIND"),
} as const;

export function WebhookPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, 15_000);
  const webhook = data?.record;
  return (
    <RecordPage
      list={{ to: "/webhooks", title: t("webhooks.title") }}
      title={webhook?.name}
      status={webhook && <StateOfWebhook webhook={webhook} />}
      actions={data && <Actions webhook={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {webhook && (
        <>
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                { label: t("webhooks.fields.url"), value: <UrlValue url={webhook.url} /> },
                { label: t("webhooks.fields.events"), value: <EventsOf webhook={webhook} /> },
                { label: t("common.description"), value: webhook.description },
                ...(webhook.disabledReason === undefined
                  ? []
                  : [{ label: t("webhooks.disabled"), value: reasons[webhook.disabledReason] }]),
                ...(webhook.failingSince === undefined
                  ? []
                  : [{ label: t("webhooks.fields.failingSince"), value: <RelativeTime at={webhook.failingSince} /> }]),
                ...(webhook.behindSince === undefined
                  ? []
                  : [{ label: t("webhooks.fields.behindSince"), value: <RelativeTime at={webhook.behindSince} /> }]),
                { label: t("common.created"), value: <RelativeTime at={webhook.createdAt} /> },
                { label: t("common.changed"), value: <RelativeTime at={webhook.updatedAt} /> },
              ]}
            />
          </Panel>
          <Deliveries key={id} webhookId={id} isActive={webhook.active} />
        </>
      )}
    </RecordPage>
  );
}

function Actions({ webhook, etag }: { readonly webhook: Webhook; readonly etag: string }) {
  const canWrite = usePermission("webhooks:write");
  const navigate = useNavigate();
  const [editing, edit] = useEditing();
  const [rotating, rotate] = useDisclosure(false);
  const [secret, setSecret] = useState<string>();
  const test = useAction({
    run: () => api.post("/tenants/webhooks/{id}/test", { path: { id: webhook.id } }),
    done: t("webhooks.testSent"),
  });
  const change = useAction({
    run: () => api.patch(path, { path: { id: webhook.id }, body: { active: !webhook.active }, ifMatch: etag }),
    done: t(webhook.active ? "webhooks.deactivated" : "webhooks.activated"),
  });
  if (!canWrite) return null;
  return (
    <>
      <Button variant="default" loading={change.isPending} onClick={() => change.mutate()}>
        {t(webhook.active ? "webhooks.deactivate" : "webhooks.activate")}
      </Button>
      <MoreActions>
        {/* First, because the menu focuses its first item, and a disabled item takes no focus. */}
        <MenuAction label={t("webhooks.rotate.label")} onClick={rotate.open} />
        <MenuAction label={t("webhooks.test")} disabled={!webhook.active} onClick={() => test.mutate()} />
        <DeleteRecord
          title={t("webhooks.delete.title", { name: webhook.name })}
          effect={t("webhooks.delete.effect")}
          path={`/tenants/webhooks/${webhook.id}`}
          etag={etag}
          changesAccess={false}
          done={() => void navigate({ to: "/webhooks" })}
        />
      </MoreActions>
      <Button onClick={edit.open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("webhooks.edit", { name: webhook.name })}
          fields={webhookFields}
          initial={webhookValues(webhook)}
          submitLabel={t("common.save")}
          submit={(values, ifMatch, before) =>
            api.patch(path, { path: { id: webhook.id }, body: changesOf(values, before), ifMatch })
          }
          close={edit.close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, webhook.id);
              return { values: webhookValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
      {rotating && (
        <RecordForm
          title={t("webhooks.rotate.title", { name: webhook.name })}
          fields={graceFields}
          initial={usualGrace}
          submitLabel={t("webhooks.rotate.label")}
          submit={async (values) => {
            const { secret: created } = await api.post("/tenants/webhooks/{id}/rotate-secret", {
              path: { id: webhook.id },
              body: graceBody(values),
              ifMatch: etag,
            });
            setSecret(created);
          }}
          close={rotate.close}
        />
      )}
      {secret !== undefined && (
        <SecretOnce
          title={t("webhooks.rotate.titleNew", { name: webhook.name })}
          secret={secret}
          close={() => setSecret(undefined)}
        >
          {t("webhooks.secret.text")}
        </SecretOnce>
      )}
    </>
  );
}
