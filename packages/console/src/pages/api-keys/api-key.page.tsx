import { Button, Code } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { usePermission, useSession } from "../../app/session.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { graceBody, graceFields, usualGrace } from "../../records/grace-field.ts";
import { PermissionTable } from "../../records/permission-table.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { useRecord } from "../../records/use-record.ts";
import { type ApiKey, StateOfKey, stateOf } from "./key-state.tsx";

const path = "/tenants/api-keys/{id}";

export function ApiKeyPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const apiKey = data?.record;
  const own = useSession().apiKey.id;
  return (
    <RecordPage
      list={{ to: "/api-keys", title: "API keys" }}
      title={apiKey?.name}
      status={apiKey && <StateOfKey apiKey={apiKey} />}
      actions={data && <Actions apiKey={data.record} etag={data.etag} isOwn={data.record.id === own} />}
      error={error}
      retry={refetch}
    >
      {apiKey && (
        <>
          <Panel title="About">
            <Facts
              facts={[
                { label: "Begins with", value: <Code>{apiKey.prefix}</Code> },
                ...(apiKey.id === own ? [{ label: "In use", value: "You are signed in with it." }] : []),
                { label: "From", value: apiKey.sourceIps.length === 0 ? "Anywhere" : apiKey.sourceIps.join(", ") },
                { label: "Last used", value: <RelativeTime at={apiKey.lastUsedAt} /> },
                { label: "Expires", value: <RelativeTime at={apiKey.expiresAt} /> },
                ...(apiKey.replacedBy === undefined
                  ? []
                  : [
                      {
                        label: "Replaced by",
                        value: (
                          <RecordLink to={`/api-keys/${apiKey.replacedBy}`}>the key that took its place</RecordLink>
                        ),
                      },
                    ]),
                { label: "Created", value: <RelativeTime at={apiKey.createdAt} /> },
              ]}
            />
          </Panel>
          <Panel title="What it may do">
            <PermissionTable label="What it may do" held={apiKey.permissions} />
          </Panel>
        </>
      )}
    </RecordPage>
  );
}

interface ActionsProps {
  readonly apiKey: ApiKey;
  readonly etag: string;
  readonly isOwn: boolean;
}

function Actions({ apiKey, etag, isOwn }: ActionsProps) {
  const canWrite = usePermission("api-keys:write");
  const { permissions: own } = useSession();
  const navigate = useNavigate();
  const [rotating, { open, close }] = useDisclosure(false);
  const [made, setMade] = useState<{ readonly id: string; readonly key: string }>();
  if (!canWrite) return null;
  // A key gives no more than it holds; and what was replaced is not replaced again.
  const canRotate =
    stateOf(apiKey, Date.now()) === "active" && apiKey.permissions.every((permission) => own.includes(permission));
  return (
    <>
      <DeleteRecord
        title={`Revoke API key ${apiKey.name}?`}
        label="Revoke"
        effect={`It stops working at once, everywhere, and sessions that began with it end.${isOwn ? " You are signed in with it: you will have to sign in with another." : ""} This cannot be undone: a key is stored nowhere.`}
        path={`/tenants/api-keys/${apiKey.id}`}
        etag={etag}
        changesAccess={false}
        done={() => void navigate({ to: "/api-keys" })}
      />
      {canRotate && <Button onClick={open}>Replace</Button>}
      {rotating && (
        <RecordForm
          title={`Replace ${apiKey.name} by a new key with the same rights`}
          fields={graceFields}
          initial={usualGrace}
          submitLabel="Replace"
          submit={async (values) =>
            setMade(
              await api.post("/tenants/api-keys/{id}/rotate", {
                path: { id: apiKey.id },
                body: graceBody(values),
                ifMatch: etag,
              }),
            )
          }
          close={close}
        />
      )}
      {made !== undefined && (
        <SecretOnce
          title={`The new key for ${apiKey.name}`}
          secret={made.key}
          close={() => {
            setMade(undefined);
            void navigate({ to: `/api-keys/${made.id}` });
          }}
        >
          Give it to what used the key before.
        </SecretOnce>
      )}
    </>
  );
}
