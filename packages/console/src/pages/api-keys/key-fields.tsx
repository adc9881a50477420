import { type Permission, permissions, rolePermissions, rolesByPrivilege } from "@gatehouse/contract/permissions";
import { useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import type { CustomFieldProps, Field, Values } from "../../records/form-fields.tsx";
import { PermissionTable } from "../../records/permission-table.tsx";

export const keyFields: readonly Field[] = [
  { kind: "text", name: "name", label: t("common.name"), description: t("apiKeys.fields.nameHelp"), required: true },
  {
    kind: "custom",
    name: "permissions",
    label: t("apiKeys.fields.permissions"),
    render: (props) => <PermissionsField {...props} />,
    format: (value) => (value as readonly string[]).join(", "),
  },
  {
    kind: "date-time",
    name: "expiresAt",
    label: t("apiKeys.fields.expires"),
    description: t("apiKeys.fields.expiresHelp"),
  },
  {
    kind: "words",
    name: "sourceIps",
    label: t("apiKeys.fields.sourceIps"),
    description: t("apiKeys.fields.sourceIpsHelp"),
    placeholder: "192.0.2.0/24",
  },
];

export const newKey: Values = { name: "", permissions: [], expiresAt: "", sourceIps: [] };

/** The records that tools such as Terraform manage: the network and access to it. */
const managedByCode: readonly Permission[] = [
  "groups:read",
  "groups:write",
  "gateways:read",
  "gateways:write",
  "resources:read",
  "resources:write",
  "addresses:read",
  "addresses:write",
  "protocols:read",
  "protocols:write",
  "admission-rules:read",
  "admission-rules:write",
  "policies:read",
  "policies:write",
  "access-tests:read",
  "access-tests:write",
  "configuration:read",
  "configuration:write",
];

/** The permissions of common purposes and of the roles, as a start for a selection. */
const presets = [
  { label: t("apiKeys.presets.infrastructure"), permissions: managedByCode },
  {
    label: t("apiKeys.presets.readOnly"),
    permissions: permissions.filter((permission) => permission.endsWith(":read")),
  },
  ...rolesByPrivilege
    .filter((type) => rolePermissions[type].length > 0 && type !== "OWNER")
    .map((type) => ({ label: t(`records.roles.${type}`), permissions: rolePermissions[type] })),
  { label: t("apiKeys.presets.none"), permissions: [] },
];

function PermissionsField({ value, onChange, error }: CustomFieldProps) {
  const { permissions: own } = useSession();
  return (
    <PermissionTable
      label={t("apiKeys.fields.permissions")}
      held={value as readonly Permission[]} // as this field defines it
      onChange={onChange}
      offered={own}
      presets={presets}
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
  }; // as the fields define them
  return {
    name,
    permissions: [...permissions],
    ...(expiresAt === "" ? {} : { expiresAt }),
    ...(sourceIps.length === 0 ? {} : { sourceIps: [...sourceIps] }),
  };
}
