import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { type Field, nameField, type Values } from "../../records/form-fields.tsx";

export type Group = ResultOf<"/tenants/groups/{id}", "get">;

const minute = 60;
const day = 86_400;

export const groupFields: readonly Field[] = [
  nameField(t("groups.fields.nameExample")),
  {
    kind: "number",
    name: "maxDevices",
    label: t("groups.fields.maxDevices"),
    description: t("groups.fields.maxDevicesHelp"),
    min: 0,
    max: 1000,
    required: true,
  },
  {
    kind: "duration",
    name: "deviceSessionLifetime",
    label: t("groups.fields.deviceSessionLifetime"),
    description: t("groups.fields.deviceSessionLifetimeHelp"),
    limits: { min: 15 * minute, max: 365 * day, optional: true },
  },
  { kind: "records", name: "roles", label: t("groups.fields.roles"), path: "/tenants/roles" },
  {
    kind: "words",
    name: "idpMapping",
    label: t("groups.fields.idpMapping"),
    description: t("groups.fields.idpMappingHelp"),
    example: "engineering",
  },
  { kind: "long-text", name: "description", label: t("common.description") },
];

export const newGroup: Values = {
  name: "",
  description: "",
  maxDevices: 5,
  deviceSessionLifetime: null,
  roles: [],
  idpMapping: [],
};

export function groupValues(group: Group): Values {
  const { name, description = "", maxDevices, deviceSessionLifetime = null, roles, idpMapping } = group;
  return { name, description, maxDevices, deviceSessionLifetime, roles: roles.map(({ id }) => id), idpMapping };
}

interface GroupBody {
  name: string;
  description: string;
  maxDevices: number;
  deviceSessionLifetime: number | null;
  roles: string[];
  idpMapping: string[];
}

export function bodyOf(values: Values): GroupBody {
  return values as unknown as GroupBody; // as the fields define them
}
