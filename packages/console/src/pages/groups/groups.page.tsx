import type { ItemAt } from "@gatehouse/client/calls";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { paged } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { Moment } from "../../records/moment.tsx";
import { NewButton } from "../../records/new-button.tsx";
import { idIn, RecordForm } from "../../records/record-form.tsx";
import { bodyOf, groupFields, newGroup } from "./group-fields.ts";

const definition: ListDefinition<ItemAt<"/tenants/groups">> = {
  source: paged("/tenants/groups"),
  noun: "groups",
  search: { label: "Name", by: "name" },
  defaultSort: "name",
  columns: [
    nameColumn("groups", "paged"),
    {
      key: "description",
      title: "Description",
      from: "md",
      cell: ({ description }) => <Text lineClamp={1}>{description}</Text>,
    },
    { key: "users", title: "Users", cell: ({ users }) => users.length },
    { key: "roles", title: "Roles", from: "sm", cell: ({ roles }) => roles.map(({ name }) => name).join(", ") },
    {
      key: "createdAt",
      title: "Created",
      sortBy: "createdAt",
      from: "sm",
      cell: ({ createdAt }) => <Moment at={createdAt} />,
    },
  ],
  empty: { title: "No groups yet", text: "Groups are what policies name: make one for each team or task." },
};

export function GroupsListPage() {
  const navigate = useNavigate();
  return (
    <RecordList
      title="Groups"
      definition={definition}
      actions={
        <NewButton
          label="Create a group"
          permission="groups:write"
          dialog={(close) => (
            <RecordForm
              title="Create a group"
              fields={groupFields}
              initial={newGroup}
              submitLabel="Create"
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
