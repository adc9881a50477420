import type { ItemAt } from "@gatehouse/client/calls";
import { whole } from "../../app/api.ts";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";

const definition: ListDefinition<ItemAt<"/tenants/roles">> = {
  source: whole("/tenants/roles"),
  noun: "roles",
  columns: [
    { key: "name", title: "Name", cell: ({ name }) => name },
    { key: "description", title: "Description", cell: ({ description }) => description },
  ],
  empty: { title: "No roles", text: "Every tenant has its system roles from the start." },
};

export function RolesListPage() {
  return <RecordList title="Roles" definition={definition} />;
}
