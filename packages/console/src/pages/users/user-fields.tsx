/** The fields of the form that edits a user. */
import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import type { Field, Values } from "../../records/form-fields.tsx";

export type User = ResultOf<"/tenants/users/{id}", "get">;

/** Only for keys that can read groups. */
export const groupsField: Field = {
  kind: "records",
  name: "groups",
  label: t("users.fields.groups"),
  description: t("users.fields.groupsHelp"),
  path: "/tenants/groups",
  required: true,
};

/** Roles that are assigned directly, only for keys that can read roles. */
export const rolesField: Field = {
  kind: "records",
  name: "roles",
  label: t("users.fields.roles"),
  description: t("users.fields.rolesHelp"),
  path: "/tenants/roles",
};

/** @param limitOfGroups the largest device limit of the user's groups; undefined if it is unknown */
export const userFields = (limitOfGroups: number | undefined): readonly Field[] => [
  { kind: "text", name: "firstName", label: t("users.fields.firstName") },
  { kind: "text", name: "lastName", label: t("users.fields.lastName") },
  {
    kind: "number",
    name: "maxDevices",
    label: t("users.fields.maxDevices"),
    description:
      limitOfGroups === undefined
        ? t("users.fields.maxDevicesHelp")
        : t("users.fields.maxDevicesHelpWithLimit", { limit: limitOfGroups }),
    min: 0,
    max: 1000,
  },
  {
    kind: "long-text",
    name: "attributes",
    label: t("users.fields.attributes"),
    description: textWithCode("users.fields.attributesHelp"),
    maxLength: 20_000,
  },
];

/** @param roles the ids of the roles that are assigned directly */
export function userValues(user: User, roles: readonly string[]): Values {
  return {
    roles: [...roles].sort(),
    firstName: user.firstName ?? "",
    lastName: user.lastName ?? "",
    maxDevices: user.maxDevices,
    groups: user.groups.map(({ id }) => id).sort(),
    attributes: Object.entries(user.attributes)
      .map(([name, value]) => `${name} = ${value}`)
      .join("\n"),
  };
}
