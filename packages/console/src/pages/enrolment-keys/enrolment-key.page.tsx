import { Button, Code } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { api } from "../../app/api.ts";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { Literals } from "../../records/literals.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { ExactTime, RelativeTime } from "../../records/relative-time.tsx";
import { ReviewedButton } from "../../records/reviewed-change.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { editBody, editFields, keyValues } from "./enrolment-key-fields.ts";
import { type EnrolmentKey, StateOfEnrolmentKey } from "./enrolment-key-state.tsx";

const path = "/tenants/enrolment-keys/{id}";

export function EnrolmentKeyPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const key = data?.record;
  return (
    <RecordPage
      list={{ to: "/enrolment-keys", title: t("enrolmentKeys.title") }}
      title={key?.name}
      status={key && <StateOfEnrolmentKey enrolmentKey={key} />}
      actions={data && <Actions enrolmentKey={data.record} etag={data.etag} />}
      error={error}
      retry={refetch}
    >
      {key && (
        <Panel title={t("common.about")}>
          <Facts
            facts={[
              { label: t("enrolmentKeys.fields.prefix"), value: <Code>{key.prefix}</Code> },
              {
                label: t("enrolmentKeys.fields.user"),
                value: <RecordLink to={`/users/${key.user.id}`}>{key.user.email}</RecordLink>,
              },
              {
                label: t("enrolmentKeys.fields.uses"),
                value: (
                  <>
                    {t("enrolmentKeys.fields.usesOf", { uses: key.uses, count: key.maxUses })}{" "}
                    {key.uses > 0 && (
                      <RecordLink to={`/devices?enrolmentKey=${key.id}`}>
                        {t("enrolmentKeys.fields.showDevices")}
                      </RecordLink>
                    )}
                  </>
                ),
              },
              { label: t("enrolmentKeys.fields.tags"), value: key.tags.length > 0 && <Literals texts={key.tags} /> },
              { label: t("enrolmentKeys.fields.lastUsed"), value: <RelativeTime at={key.lastUsedAt} /> },
              { label: t("enrolmentKeys.fields.expires"), value: <ExactTime at={key.expiresAt} /> },
              ...(key.revokedAt === undefined
                ? []
                : [{ label: t("enrolmentKeys.fields.revoked"), value: <RelativeTime at={key.revokedAt} /> }]),
              { label: t("common.created"), value: <RelativeTime at={key.createdAt} /> },
            ]}
          />
        </Panel>
      )}
    </RecordPage>
  );
}

function Actions({ enrolmentKey, etag }: { readonly enrolmentKey: EnrolmentKey; readonly etag: string }) {
  const canWrite = usePermission("devices:write");
  const navigate = useNavigate();
  const [editing, edit] = useDisclosure(false);
  const { id, name, status } = enrolmentKey;
  if (!canWrite) return null;
  return (
    <>
      {status === "revoked" ? (
        <DeleteRecord
          title={t("enrolmentKeys.delete.title", { name })}
          effect={t("enrolmentKeys.delete.effect")}
          path={`/tenants/enrolment-keys/${id}`}
          etag={etag}
          changesAccess={false}
          done={() => void navigate({ to: "/enrolment-keys" })}
        />
      ) : (
        <>
          <ReviewedButton
            label={t("enrolmentKeys.revoke.label")}
            title={t("enrolmentKeys.revoke.title", { name })}
            note={t("enrolmentKeys.revoke.effect")}
            changes={[{ method: "POST", path: `/tenants/enrolment-keys/${id}/revoke` }]}
            etag={etag}
            changesAccess={false}
            doneMessage={t("enrolmentKeys.revoke.done")}
            danger
          />
          <Button onClick={edit.open}>{t("common.edit")}</Button>
        </>
      )}
      {editing && (
        <RecordForm
          title={t("enrolmentKeys.edit", { name })}
          fields={editFields}
          initial={keyValues(enrolmentKey)}
          submitLabel={t("common.save")}
          submit={(values, ifMatch) => api.put(path, { path: { id }, body: editBody(values, enrolmentKey), ifMatch })}
          close={edit.close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, id);
              return { values: keyValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
