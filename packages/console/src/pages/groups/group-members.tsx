/** The members of a group, the form that adds users, and the removal of each member. */
import { Text } from "@mantine/core";
import { useState } from "react";
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { AddingPanel } from "../../records/adding-panel.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { PanelTable } from "../../records/panel-table.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { RemoveButton } from "../../records/remove-button.tsx";
import { ReviewDialog } from "../../records/reviewed-change.tsx";
import { useEditing } from "../../records/use-editing.ts";
import type { Group } from "./group-fields.ts";

const fields: readonly Field[] = [
  {
    kind: "records",
    name: "users",
    label: t("users.title"),
    path: "/tenants/users",
    required: true,
    // The picker returns ids.
    validate: (value) => ((value as readonly string[]).length > 0 ? undefined : t("groups.members.select")),
  },
];

const mostShown = 50;

export function GroupMembers({ group }: { readonly group: Group }) {
  const canWrite = usePermission("users:write");
  const [removed, setRemoved] = useState<Group["users"][number]>();
  const [adding, { open, close }] = useEditing("add");
  return (
    <>
      <AddingPanel
        title={t("groups.members.title", { count: group.users.length })}
        add={{ label: t("groups.members.add"), run: open, permission: "users:write" }}
        empty={{
          title: t("groups.members.empty"),
          text: t("groups.members.emptyText"),
          guide: "invitations#invite",
        }}
        isEmpty={group.users.length === 0}
      >
        <PanelTable
          rows={group.users.slice(0, mostShown)}
          columns={[
            {
              title: t("users.fields.email"),
              cell: ({ id, email = id }) => <RecordLink to={`/users/${id}`}>{email}</RecordLink>,
            },
          ]}
          actions={
            canWrite
              ? (member) => (
                  <RemoveButton
                    label={t("groups.members.removeNamed", { name: member.email ?? member.id })}
                    onClick={() => setRemoved(member)}
                  />
                )
              : undefined
          }
        />
        {group.users.length > mostShown && (
          <Text c="dimmed" mt="sm">
            {t("common.andMore", { count: group.users.length - mostShown })}
          </Text>
        )}
      </AddingPanel>
      {removed !== undefined && (
        <ReviewDialog
          title={t("groups.members.removeTitle", { name: removed.email ?? removed.id, group: group.name })}
          note={t("groups.members.removeNote")}
          changes={[
            {
              method: "PATCH",
              path: `/tenants/users/${removed.id}/groups`,
              body: { addedGroups: [], removedGroups: [group.id] },
            },
          ]}
          label={t("common.remove")}
          danger
          doneMessage={t("groups.members.removed")}
          close={() => setRemoved(undefined)}
        />
      )}
      {adding && canWrite && (
        <RecordForm
          title={t("groups.members.addTitle", { name: group.name })}
          fields={fields}
          initial={{ users: [] }}
          submitLabel={t("groups.members.add")}
          plan={({ users }) =>
            // The picker returns ids.
            (users as readonly string[]).map((id) => ({
              method: "PATCH",
              path: `/tenants/users/${id}/groups`,
              body: { addedGroups: [group.id], removedGroups: [] },
            }))
          }
          close={close}
        />
      )}
    </>
  );
}
