import { Button, Code, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { graceBody, graceFields, usualGrace } from "../../records/grace-field.ts";
import { RecordForm } from "../../records/record-form.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { readRecord, useAction, useRecord } from "../../records/use-record.ts";
import { Deliveries } from "./deliveries.tsx";
import { bodyOf, webhookFields, webhookValues } from "./webhook-fields.ts";
import { StateOfWebhook, type Webhook } from "./webhook-state.tsx";

const path = "/tenants/webhooks/{id}";

const reasons = {
  GONE: "The receiver answered that it is gone (410).",
  FAILING: "Every attempt failed for days.",
} as const;

export function WebhookPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id, 15_000);
  const webhook = data?.record;
  return (
    <RecordPage
      list={{ to: "/webhooks", title: "Webhooks" }}
      title={webhook?.name}
      status={webhook && <StateOfWebhook webhook={webhook} />}
      actions={data && <Actions webhook={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {webhook && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                { label: "URL", value: <Code>{webhook.url}</Code> },
                { label: "Events", value: webhook.events.length === 0 ? "Every event" : webhook.events.join(", ") },
                { label: "Description", value: webhook.description },
                ...(webhook.disabledReason === undefined
                  ? []
                  : [{ label: "Switched off", value: reasons[webhook.disabledReason] }]),
                ...(webhook.failingSince === undefined
                  ? []
                  : [{ label: "Failing since", value: <RelativeTime at={webhook.failingSince} /> }]),
                { label: "Created", value: <RelativeTime at={webhook.createdAt} /> },
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
  const [editing, edit] = useDisclosure(false);
  const [rotating, rotate] = useDisclosure(false);
  const [secret, setSecret] = useState<string>();
  const test = useAction({
    run: () => api.post("/tenants/webhooks/{id}/test", { path: { id: webhook.id } }),
    done: "A test message is on its way: see the deliveries.",
  });
  if (!canWrite) return null;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default">More</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item disabled={!webhook.active} onClick={() => test.mutate()}>
            Send a test message
          </Menu.Item>
          <Menu.Item onClick={rotate.open}>Make a new secret</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <DeleteRecord
        title={`Delete webhook ${webhook.name}?`}
        effect="Nothing is delivered to it any more, what was not delivered yet is given up, and its list of deliveries goes with it. This cannot be undone."
        path={`/tenants/webhooks/${webhook.id}`}
        etag={etag}
        changesAccess={false}
        done={() => void navigate({ to: "/webhooks" })}
      />
      <Button onClick={edit.open}>Edit</Button>
      {editing && (
        <RecordForm
          title={`Edit ${webhook.name}`}
          fields={webhookFields}
          initial={webhookValues(webhook)}
          submitLabel="Save"
          submit={(values, ifMatch) => api.patch(path, { path: { id: webhook.id }, body: bodyOf(values), ifMatch })}
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
          title={`A new secret for ${webhook.name}`}
          fields={graceFields}
          initial={usualGrace}
          submitLabel="Make a new secret"
          submit={async (values) => {
            const { secret: made } = await api.post("/tenants/webhooks/{id}/rotate-secret", {
              path: { id: webhook.id },
              body: graceBody(values),
              ifMatch: etag,
            });
            setSecret(made);
          }}
          close={rotate.close}
        />
      )}
      {secret !== undefined && (
        <SecretOnce title={`The new secret of ${webhook.name}`} secret={secret} close={() => setSecret(undefined)}>
          The receiver checks each message's signature with it.
        </SecretOnce>
      )}
    </>
  );
}
