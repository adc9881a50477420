import type { ItemAt } from "@gatehouse/client/calls";
import { permissions, rolePermissions } from "@gatehouse/contract/permissions";
import { whole } from "../../app/api.ts";
import { nameColumn } from "../../lists/columns.tsx";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { RecordList } from "../../lists/record-list.tsx";
import { t } from "../../messages/i18n.ts";
import { describeRole } from "./describe-role.ts";

type Role = ItemAt<"/tenants/roles">;

function formatKind({ deleteable }: Role): string {
  return deleteable ? t("roles.kind.custom") : t("roles.kind.builtIn");
}

const definition: ListDefinition<Role> = {
  source: whole("/tenants/roles"),
  noun: t("roles.noun"),
  search: { label: t("common.name"), by: ({ name, description = "" }) => `${name} ${description}` },
  defaultSort: "-permissions",
  columns: [
    nameColumn("roles", "whole"),
    { key: "description", title: t("common.description"), isBelow: true, cell: describeRole },
    {
      key: "permissions",
      title: t("roles.permissions"),
      isBelow: true,
      sortBy: ({ type }) => rolePermissions[type].length,
      cell: ({ type }) =>
        t("roles.permissionsCount", { count: rolePermissions[type].length, total: permissions.length }),
    },
    {
      key: "kind",
      title: t("roles.kind.label"),
      visibleFrom: "sm",
      sortBy: formatKind,
      cell: formatKind,
    },
  ],
  empty: {
    title: t("roles.empty.title"),
    text: t("roles.empty.text"),
    action: { label: t("roles.showUsers"), to: "/users", permission: "users:read" },
    guide: "glossary#records",
  },
};

export function RolesListPage() {
  return <RecordList title={t("roles.title")} definition={definition} />;
}
