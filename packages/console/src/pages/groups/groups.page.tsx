import type { ItemAt } from "@gatehouse/client/calls";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import { unnamedFilter } from "../../lists/filters.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { RecordLinks } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { bodyOf, groupFields, newGroup } from "./group-fields.ts";

const definition: ListDefinition<ItemAt<"/tenants/groups">> = {
  source: paged("/tenants/groups"),
  noun: t("groups.noun"),
  search: { label: t("common.name"), by: "name" },
  defaultSort: "name",
  columns: [
    nameColumn("groups", "paged"),
    {
      key: "description",
      title: t("common.description"),
      visibleFrom: "md",
      cell: ({ description }) => <Text lineClamp={1}>{description}</Text>,
    },
    { key: "users", title: t("groups.usersColumn"), isBelow: true, cell: ({ users }) => users.length },
    {
      key: "roles",
      title: t("groups.rolesColumn"),
      visibleFrom: "sm",
      cell: ({ roles }) => (roles.length === 0 ? absent : <RecordLinks path="roles" records={roles} />),
    },
    {
      key: "createdAt",
      title: t("common.created"),
      sortBy: "createdAt",
      visibleFrom: "sm",
      cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
    },
  ],
  filters: [unnamedFilter],
  bulk: [
    {
      label: t("common.delete"),
      permission: "groups:write",
      danger: true,
      note: t("groups.bulk.deleteNote"),
      plan: ({ id, deleteable }) => (deleteable ? { method: "DELETE", path: `/tenants/groups/${id}` } : undefined),
    },
  ],
  empty: {
    title: t("groups.empty.title"),
    text: t("groups.empty.text"),
    action: { label: t("groups.create"), to: "/groups?new=1", permission: "groups:write" },
    guide: "glossary#records",
  },
};

export function GroupsListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title={t("groups.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("groups.create")}
          permission="groups:write"
          dialog={(close) => (
            <RecordForm
              title={t("groups.create")}
              fields={groupFields}
              initial={newGroup}
              submitLabel={t("common.create")}
              plan={(values) => [{ method: "POST", path: "/tenants/groups", body: bodyOf(values) }]}
              saved={(answer) => void navigate({ to: `/groups/${idIn(answer)}` })}
              close={close}
            />
          )}
        />
      }
    />
  );
}
