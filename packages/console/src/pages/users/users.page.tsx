import type { ItemAt } from "@gatehouse/client/calls";
import { rolesByPrivilege } from "@gatehouse/contract/permissions";
import { Text } from "@mantine/core";
import { paged } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { NewButton } from "../../records/new-button.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { StatusOf } from "../../records/status.tsx";
import { InviteUsers } from "./invite-users.tsx";
import { fullName } from "./user-name.ts";

const definition: ListDefinition<ItemAt<"/tenants/users">> = {
  source: paged("/tenants/users"),
  noun: t("users.noun"),
  search: { label: t("users.fields.email"), by: "email" },
  defaultSort: "email",
  columns: [
    {
      key: "email",
      title: t("users.fields.email"),
      sortBy: "email",
      cell: ({ id, email }) => <RecordLink to={`/users/${id}`}>{email ?? id}</RecordLink>,
    },
    {
      key: "name",
      title: t("common.name"),
      sortBy: "lastName",
      visibleFrom: "sm",
      cell: (user) => fullName(user) || <Text c="dimmed">–</Text>,
    },
    { key: "status", title: t("common.status"), cell: ({ status }) => <StatusOf value={status} /> },
    {
      key: "groups",
      title: t("users.fields.groups"),
      visibleFrom: "md",
      cell: ({ groups }) => <RecordLinks path="groups" records={groups} />,
    },
    { key: "devices", title: t("users.devices.title"), visibleFrom: "lg", cell: ({ devices }) => devices.length },
    {
      key: "lastConnection",
      title: t("users.fields.lastConnection"),
      sortBy: "lastConnection",
      visibleFrom: "sm",
      cell: ({ lastConnection }) => <RelativeTime at={lastConnection} />,
    },
  ],
  filters: [
    {
      field: "status",
      title: t("common.status"),
      options: [
        { value: "active", label: t("records.status.active") },
        { value: "pending", label: t("records.status.pending") },
        { value: "inactive", label: t("records.status.inactive") },
      ],
    },
    {
      field: "roles.type",
      title: t("users.fields.role"),
      options: rolesByPrivilege.map((value) => ({ value, label: t(`records.roles.${value}`) })),
    },
  ],
  empty: { title: t("users.empty.title"), text: t("users.empty.text") },
};

export function UsersListPage() {
  return (
    <RecordList
      title={t("users.title")}
      definition={definition}
      actions={
        <NewButton
          label={t("users.invite.title")}
          permission="users:write"
          dialog={(close) => <InviteUsers close={close} />}
        />
      }
    />
  );
}
