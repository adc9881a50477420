/** The members of a group, and the form that adds users. */
import { usePermission } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { AddingPanel } from "../../records/adding-panel.tsx";
import type { Field } from "../../records/form-fields.tsx";
import { RecordForm } from "../../records/record-form.tsx";
import { RecordLink } from "../../records/record-link.tsx";
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
  const canAdd = usePermission("users:write");
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
        <ul className="names">
          {group.users.slice(0, mostShown).map(({ id, email }) => (
            <li key={id}>
              <RecordLink to={`/users/${id}`}>{email}</RecordLink>
            </li>
          ))}
          {group.users.length > mostShown && <li>{t("common.andMore", { count: group.users.length - mostShown })}</li>}
        </ul>
      </AddingPanel>
      {adding && canAdd && (
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
