import { type Permission, permissions, rolePermissions, rolesByPrivilege } from "@gatehouse/contract/permissions";
import { useSession } from "../../app/session.ts";
import type { CustomFieldProps, Field, Values } from "../../records/form-fields.tsx";
import { PermissionTable } from "../../records/permission-table.tsx";

export const keyFields: readonly Field[] = [
  { kind: "text", name: "name", label: "Name", description: "Who or what uses it.", required: true },
  {
    kind: "custom",
    name: "permissions",
    label: "What it may do",
    render: (props) => <PermissionsField {...props} />,
    format: (value) => (value as readonly string[]).join(", "),
  },
  { kind: "date-time", name: "expiresAt", label: "Expires", description: "Empty: never." },
  {
    kind: "words",
    name: "sourceIps",
    label: "Source addresses",
    description: "It works from these alone. None: from anywhere.",
    placeholder: "192.0.2.0/24",
  },
];

export const newKey: Values = { name: "", permissions: [], expiresAt: "", sourceIps: [] };

/** What roles grant, as a start; then each permission can be chosen by itself. */
const choices = [
  { label: "All reading", permissions: permissions.filter((permission) => permission.endsWith(":read")) },
  ...rolesByPrivilege
    .filter((type) => rolePermissions[type].length > 0 && type !== "OWNER")
    .map((type) => ({
      label: `As ${type.charAt(0)}${type.slice(1).toLowerCase()}`,
      permissions: rolePermissions[type],
    })),
  { label: "Nothing", permissions: [] },
];

function PermissionsField({ value, onChange, error }: CustomFieldProps) {
  const { permissions: own } = useSession();
  return (
    <PermissionTable
      label="What it may do"
      held={value as readonly Permission[]} // as this field makes it
      onChange={onChange}
      offered={own}
      presets={choices}
      error={error}
    />
  );
}

export function bodyOf(values: Values) {
  const { name, permissions, expiresAt, sourceIps } = values as {
    readonly name: string;
    readonly permissions: readonly Permission[];
    readonly expiresAt: string;
    readonly sourceIps: readonly string[];
  }; // as the fields make them
  return {
    name,
    permissions: [...permissions],
    ...(expiresAt === "" ? {} : { expiresAt }),
    ...(sourceIps.length === 0 ? {} : { sourceIps: [...sourceIps] }),
  };
}
