import { type Permission, type RoleType, rolePermissions, rolesByPrivilege } from "@gatehouse/contract/permissions";
import { Button, Group } from "@mantine/core";
import { useSession } from "../../app/session.ts";
import { formatShortTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { DateTimeField, describeInOwnZone } from "../../records/date-time-field.tsx";
import { type CustomFieldProps, type Field, nameField, type Values } from "../../records/form-fields.tsx";
import { PermissionTable } from "../../records/permission-table.tsx";

export const keyFields: readonly Field[] = [
  nameField(t("apiKeys.fields.nameExample"), { description: t("apiKeys.fields.nameHelp") }),
  {
    kind: "custom",
    name: "permissions",
    label: t("apiKeys.fields.permissions"),
    render: (props) => <PermissionsField {...props} />,
    format: (value) => (value as readonly string[]).join(", "),
  },
  {
    kind: "custom",
    name: "expiresAt",
    label: t("apiKeys.fields.expires"),
    render: (props) => <ExpiryField {...props} />,
    format: (value) => formatShortTime(String(value)),
  },
  {
    kind: "words",
    name: "sourceIps",
    label: t("apiKeys.fields.sourceIps"),
    description: t("apiKeys.fields.sourceIpsHelp"),
    example: "192.0.2.0/24",
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

/** Roles without a preset: a key is not an owner, and few programs count users. */
const otherRoles: readonly RoleType[] = ["OWNER", "BILLING"];

/** Presets from which a selection starts: the permissions of each role, by privilege, and those of a common purpose. */
const presets = [
  ...rolesByPrivilege
    .filter((type) => rolePermissions[type].length > 0 && !otherRoles.includes(type))
    .map((type) => ({ label: t(`records.roles.${type}`), permissions: rolePermissions[type] })),
  {
    label: t("apiKeys.presets.infrastructure"),
    permissions: managedByCode,
    about: t("apiKeys.presets.infrastructureAbout"),
  },
];

const dayMs = 24 * 60 * 60_000;

function ExpiryField({ value, onChange, error }: CustomFieldProps) {
  const expiresAt = value as string; // as this field defines it
  return (
    <div>
      <DateTimeField
        label={t("apiKeys.fields.expires")}
        description={describeInOwnZone(t("apiKeys.fields.expiresHelp"))}
        value={expiresAt}
        onChange={onChange}
        error={error}
      />
      <Group gap="xs" mt="xs">
        {[30, 90, 365].map((count) => (
          <Button
            key={count}
            size="xs"
            variant="default"
            onClick={() => onChange(new Date(Date.now() + count * dayMs).toISOString())}
          >
            {t("apiKeys.fields.expiresIn.days", { count })}
          </Button>
        ))}
        <Button size="xs" variant="default" onClick={() => onChange("")}>
          {t("apiKeys.fields.expiresIn.never")}
        </Button>
      </Group>
    </div>
  );
}

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
