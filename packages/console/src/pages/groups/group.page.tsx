import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate, useParams } from "@tanstack/react-router";
import { usePermission } from "../../app/session.ts";
import { formatDuration } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { DeleteRecord } from "../../records/delete-record.tsx";
import { MoreActions } from "../../records/more-actions.tsx";
import { omitUnchanged } from "../../records/omit-unchanged.ts";
import { PoliciesTab } from "../../records/policies-tab.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { Facts, Panel, RecordPage } from "../../records/record-page.tsx";
import { RecordTabs } from "../../records/record-tabs.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { RequireSignIn } from "../../records/require-sign-in.tsx";
import { readRecord, useRecord } from "../../records/use-record.ts";
import { bodyOf, type Group, groupFields, groupValues } from "./group-fields.ts";
import { GroupMembers } from "./group-members.tsx";
import { removeGroup } from "./remove-group.ts";

const path = "/tenants/groups/{id}";

export function GroupPage() {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useRecord(path, id);
  const group = data?.record;
  const canReadPolicies = usePermission("policies:read");
  return (
    <RecordPage
      list={{ to: "/groups", title: t("groups.title") }}
      title={group?.name}
      actions={
        data && (
          <>
            <RequireSignIn target={{ kind: "group", id: data.record.id, name: data.record.name }} />
            <Actions group={data.record} etag={data.etag} />
          </>
        )
      }
      graph={group && `/access?view=graph&focus=group:${group.id}`}
      error={error}
      retry={refetch}
    >
      {group && (
        <RecordTabs
          access={
            canReadPolicies ? (
              <PoliciesTab
                title={t("records.policiesTab.group")}
                empty={t("records.policiesTab.groupEmpty")}
                concerns={({ groups, allGroups, isDefault }) =>
                  !isDefault && (allGroups || groups.some((named) => named.id === group.id))
                }
                note={
                  <RichText
                    message="records.policiesTab.groupNote"
                    elements={{ graph: <RecordLink to={`/access?view=graph&focus=group:${group.id}`} inText /> }}
                  />
                }
              />
            ) : undefined
          }
        >
          <Panel title={t("common.about")}>
            <Facts
              facts={[
                { label: t("common.description"), value: group.description },
                { label: t("groups.fields.maxDevices"), value: group.maxDevices },
                {
                  label: t("groups.fields.deviceSessionLifetime"),
                  value: group.deviceSessionLifetime !== undefined && formatDuration(group.deviceSessionLifetime),
                  none: t("groups.noSessionLifetime"),
                },
                { label: t("groups.fields.roles"), value: group.roles.map(({ name }) => name).join(", ") },
                { label: t("groups.fields.idpMapping"), value: group.idpMapping.join(", ") },
                {
                  label: t("groups.defaultForSso"),
                  value: group.isSamlDefaultGroup ? t("common.yes") : t("common.no"),
                },
                { label: t("common.created"), value: <RelativeTime at={group.createdAt} /> },
                { label: t("common.changed"), value: <RelativeTime at={group.updatedAt} /> },
              ]}
            />
          </Panel>
          <GroupMembers group={group} />
        </RecordTabs>
      )}
    </RecordPage>
  );
}

function Actions({ group, etag }: { readonly group: Group; readonly etag: string }) {
  const canWrite = usePermission("groups:write");
  const canWriteUsers = usePermission("users:write");
  const navigate = useNavigate();
  const [editing, { open, close }] = useDisclosure(false);
  const at = `/tenants/groups/${group.id}`;
  if (!canWrite) return null;
  return (
    <>
      {group.deleteable && (
        <MoreActions>
          <DeleteRecord
            title={t("groups.delete.title", { name: group.name })}
            effect={t("groups.delete.effect", { count: group.users.length })}
            path={at}
            etag={etag}
            remedy={(error) => (canWriteUsers ? removeGroup({ record: group, etag }, error) : undefined)}
            done={() => void navigate({ to: "/groups" })}
          />
        </MoreActions>
      )}
      <Button onClick={open}>{t("common.edit")}</Button>
      {editing && (
        <RecordForm
          title={t("groups.edit", { name: group.name })}
          fields={groupFields}
          initial={groupValues(group)}
          submitLabel={t("common.save")}
          plan={(values, before) => [
            { method: "PUT", path: at, body: omitUnchanged(bodyOf(values), bodyOf(before), ["deviceSessionLifetime"]) },
          ]}
          close={close}
          edits={{
            etag,
            reload: async () => {
              const stored = await readRecord(path, group.id);
              return { values: groupValues(stored.record), etag: stored.etag };
            },
          }}
        />
      )}
    </>
  );
}
