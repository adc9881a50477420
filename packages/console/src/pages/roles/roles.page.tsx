import type { ItemAt } from "@gatehouse/client/calls";
import { permissions, rolePermissions } from "@gatehouse/contract/permissions";
import { whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";

const definition: ListDefinition<ItemAt<"/tenants/roles">> = {
  source: whole("/tenants/roles"),
  noun: "roles",
  search: { label: "Name", by: ({ name, description = "" }) => `${name} ${description}` },
  defaultSort: "-permissions",
  columns: [
    nameColumn("roles", "whole"),
    { key: "description", title: "Description", visibleFrom: "xs", cell: ({ description }) => description },
    {
      key: "permissions",
      title: "Permissions",
      sortBy: ({ type }) => rolePermissions[type].length,
      cell: ({ type }) => `${rolePermissions[type].length} of ${permissions.length}`,
    },
    { key: "kind", title: "Kind", visibleFrom: "sm", cell: ({ deleteable }) => (deleteable ? "Custom" : "Built in") },
  ],
  empty: { title: "No roles", text: "Every tenant has its system roles from the start." },
};

export function RolesListPage() {
  return <RecordList title="Roles" definition={definition} />;
}
