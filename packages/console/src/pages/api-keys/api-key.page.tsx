import { Button, Code } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../app/api.ts";
import { usePermission, useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { graceBody, graceFields, usualGrace } from "../../records/grace-field.ts";
import { PermissionTable } from "../../records/permission-table.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { pageOf } from "../../records/record-pages.ts";
import { ExactTime, RelativeTime } from "../../records/relative-time.tsx";
import { SecretOnce } from "../../records/secret-once.tsx";
import { useRecord } from "../../records/use-record.ts";
import { type ApiKey, StateOfKey, stateOf } from "./key-state.tsx";

const path = "/tenants/api-keys/{id}";

export function ApiKeyPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const apiKey = data?.record;
  const own = useSession().apiKey?.id;
  return (
    <RecordPage
      list={{ to: "/api-keys", title: t("apiKeys.title") }}
      title={apiKey?.name}
      status={apiKey && <StateOfKey apiKey={apiKey} />}
      actions={data && <Actions apiKey={data.record} etag={data.etag} isOwn={data.record.id === own} />}
      error={error}
      retry={refetch}
    >
      {apiKey && (
        <>
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                { label: t("apiKeys.fields.prefix"), value: <Code>{apiKey.prefix}</Code> },
                ...(apiKey.id === own
                  ? [{ label: t("apiKeys.fields.inUse"), value: t("apiKeys.fields.inUseText") }]
                  : []),
                {
                  label: t("apiKeys.fields.sourceIps"),
                  value: apiKey.sourceIps.length === 0 ? t("apiKeys.fields.anyAddress") : apiKey.sourceIps.join(", "),
                },
                { label: t("apiKeys.fields.lastUsed"), value: <RelativeTime at={apiKey.lastUsedAt} /> },
                { label: t("apiKeys.fields.expires"), value: <ExactTime at={apiKey.expiresAt} /> },
                ...(apiKey.replacedBy === undefined
                  ? []
                  : [
                      {
                        label: t("apiKeys.fields.replacedBy"),
                        value: (
                          <RecordLink to={`/api-keys/${apiKey.replacedBy}`}>
                            {t("apiKeys.fields.replacedByLink")}
                          </RecordLink>
                        ),
                      },
                    ]),
                ...(apiKey.createdBy === undefined
                  ? []
                  : [
                      {
                        label: t("apiKeys.fields.createdBy"),
                        value: <CreatedBy by={apiKey.createdBy} />,
                      },
                    ]),
                { label: t("common.created"), value: <RelativeTime at={apiKey.createdAt} /> },
              ]}
            />
          </Panel>
          <Panel title={t("apiKeys.fields.permissions")}>
            <PermissionTable label={t("apiKeys.fields.permissions")} held={apiKey.permissions} />
          </Panel>
        </>
      )}
    </RecordPage>
  );
}

function CreatedBy({ by: { type, id, name } }: { readonly by: NonNullable<ApiKey["createdBy"]> }) {
  const page = id === undefined ? undefined : pageOf(type, id);
  return page === undefined ? name : <RecordLink to={page}>{name}</RecordLink>;
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
  const [created, setCreated] = useState<{ readonly id: string; readonly key: string }>();
  if (!canWrite) return null;
  // A key cannot grant permissions that it does not hold, and a replaced key cannot be rotated again.
  const canRotate =
    stateOf(apiKey, Date.now()) === "active" && apiKey.permissions.every((permission) => own.includes(permission));
  return (
    <>
      <DeleteRecord
        title={t("apiKeys.revoke.title", { name: apiKey.name })}
        label={t("apiKeys.revoke.label")}
        effect={isOwn ? t("apiKeys.revoke.effectOwn") : t("apiKeys.revoke.effect")}
        path={`/tenants/api-keys/${apiKey.id}`}
        etag={etag}
        changesAccess={false}
        done={() => void navigate({ to: "/api-keys" })}
      />
      {canRotate && (
        <Button variant="default" onClick={open}>
          {t("apiKeys.rotate.label")}
        </Button>
      )}
      {rotating && (
        <RecordForm
          title={t("apiKeys.rotate.title", { name: apiKey.name })}
          fields={graceFields}
          initial={usualGrace}
          submitLabel={t("apiKeys.rotate.label")}
          submit={async (values) =>
            setCreated(
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
      {created !== undefined && (
        <SecretOnce
          title={t("apiKeys.rotate.titleNew", { name: apiKey.name })}
          secret={created.key}
          copyLabel={t("records.secret.copyKey")}
          close={() => {
            setCreated(undefined);
            void navigate({ to: `/api-keys/${created.id}` });
          }}
        >
          {t("apiKeys.rotate.text")}
        </SecretOnce>
      )}
    </>
  );
}
