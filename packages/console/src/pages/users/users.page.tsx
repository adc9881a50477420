import type { ItemAt } from "@gatehouse/client/calls";
import { Text } from "@mantine/core";
import { paged } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { RecordLink, RecordLinks } from "../../records/record-link.tsx";
import { RelativeTime } from "../../records/relative-time.tsx";
import { StatusOf } from "../../records/status.tsx";
import { InviteUsers } from "./invite-users.tsx";
import { fullName } from "./user-name.ts";

const definition: ListDefinition<ItemAt<"/tenants/users">> = {
  source: paged("/tenants/users"),
  noun: "users",
  search: { label: "E-mail address", by: "email" },
  defaultSort: "email",
  columns: [
    {
      key: "email",
      title: "E-mail address",
      sortBy: "email",
      cell: ({ id, email }) => <RecordLink to={`/users/${id}`}>{email ?? id}</RecordLink>,
    },
    {
      key: "name",
      title: "Name",
      sortBy: "lastName",
      visibleFrom: "sm",
      cell: (user) => fullName(user) || <Text c="dimmed">–</Text>,
    },
    { key: "status", title: "Status", cell: ({ status }) => <StatusOf value={status} /> },
    {
      key: "groups",
      title: "Groups",
      visibleFrom: "md",
      cell: ({ groups }) => <RecordLinks path="groups" records={groups} />,
    },
    { key: "devices", title: "Devices", visibleFrom: "lg", cell: ({ devices }) => devices.length },
    {
      key: "lastConnection",
      title: "Last connection",
      sortBy: "lastConnection",
      visibleFrom: "sm",
      cell: ({ lastConnection }) => <RelativeTime at={lastConnection} />,
    },
  ],
  filters: [
    {
      field: "status",
      title: "Status",
      options: [
        { value: "active", label: "Active" },
        { value: "pending", label: "Pending" },
        { value: "inactive", label: "Inactive" },
      ],
    },
    {
      field: "roles.type",
      title: "Role",
      options: ["OWNER", "ADMIN", "SUPPORT", "AUDITOR", "BASIC", "BILLING", "DEFAULT"].map((value) => ({
        value,
        label: value.charAt(0) + value.slice(1).toLowerCase(),
      })),
    },
  ],
  empty: { title: "No users yet", text: "Invite the people who are to reach your network." },
};

export function UsersListPage() {
  return (
    <RecordList
      title="Users"
      definition={definition}
      actions={
        <NewButton label="Invite users" permission="users:write" dialog={(close) => <InviteUsers close={close} />} />
      }
    />
  );
}
