import type { ItemAt } from "@gatehouse/client/calls";
import { rolesByPrivilege } from "@gatehouse/contract/permissions";
import { paged } from "../../app/api.ts";
import { notSeenFilter, unnamedFilter } from "../../lists/filters.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { absent } from "../../records/absent.tsx";
import { Kind } from "../../records/kind-icon.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { StatusOf } from "../../records/status.tsx";
import { InviteUsers } from "./invite-users.tsx";
import { UserDetails } from "./user-details.tsx";
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
      cell: ({ id, email }) => (
        <Kind of="users">
          <RecordLink to={`/users/${id}`}>{email ?? id}</RecordLink>
        </Kind>
      ),
    },
    {
      key: "name",
      title: t("common.name"),
      sortBy: "lastName",
      isBelow: true,
      cell: (user) => fullName(user) || absent,
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
      visibleFrom: "md",
      isBelow: true,
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
    { field: "groups.id", title: t("users.bulk.group"), kind: "group" },
    { ...notSeenFilter, help: t("users.notSeenHelp") },
    { ...unnamedFilter, isAdvanced: true },
  ],
  bulk: [
    {
      label: t("users.bulk.addToGroup"),
      permission: "users:write",
      note: t("users.bulk.addToGroupNote"),
      choose: { path: "/tenants/groups", label: t("users.bulk.group") },
      plan: ({ id, groups }, group) =>
        groups.some((held) => held.id === group)
          ? undefined
          : {
              method: "PATCH",
              path: `/tenants/users/${id}/groups`,
              body: { addedGroups: [group], removedGroups: [] },
            },
    },
    {
      label: t("users.bulk.deactivate"),
      permission: "users:write",
      danger: true,
      note: t("users.bulk.deactivateNote"),
      plan: ({ id, status }) =>
        status === "inactive" ? undefined : { method: "PATCH", path: `/tenants/users/${id}/deactivate` },
    },
    {
      label: t("users.bulk.reactivate"),
      permission: "users:write",
      note: t("users.bulk.reactivateNote"),
      plan: ({ id, status }) =>
        status === "inactive" ? { method: "POST", path: `/tenants/users/${id}/reactivate` } : undefined,
    },
    {
      label: t("common.delete"),
      permission: "users:write",
      danger: true,
      note: t("users.bulk.deleteNote"),
      plan: ({ id }) => ({ method: "DELETE", path: `/tenants/users/${id}` }),
    },
  ],
  details: (user) => <UserDetails user={user} />,
  empty: {
    title: t("users.empty.title"),
    text: t("users.empty.text"),
    action: { label: t("users.invite.title"), to: "/users?new=1", permission: "users:write" },
    guide: "invitations#invite",
  },
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
