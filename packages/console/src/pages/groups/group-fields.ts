import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import type { Field, Values } from "../../records/form-fields.tsx";

export type Group = ResultOf<"/tenants/groups/{id}", "get">;

export const groupFields: readonly Field[] = [
  { kind: "text", name: "name", label: t("common.name"), required: true },
  { kind: "long-text", name: "description", label: t("common.description") },
  { kind: "number", name: "maxDevices", label: t("groups.fields.maxDevices"), min: 0, max: 1000 },
  { kind: "records", name: "roles", label: t("groups.fields.roles"), path: "/tenants/roles" },
  {
    kind: "words",
    name: "idpMapping",
    label: t("groups.fields.idpMapping"),
    description: t("groups.fields.idpMappingHelp"),
  },
];

export const newGroup: Values = { name: "", description: "", maxDevices: 5, roles: [], idpMapping: [] };

export function groupValues({ name, description = "", maxDevices, roles, idpMapping }: Group): Values {
  return { name, description, maxDevices, roles: roles.map(({ id }) => id), idpMapping };
}

interface GroupBody {
  name: string;
  description: string;
  maxDevices?: number;
  roles: string[];
  idpMapping: string[];
}

export function bodyOf(values: Values): GroupBody {
  const { maxDevices, ...rest } = values as Omit<GroupBody, "maxDevices"> & { readonly maxDevices: number | null }; // as the fields define them
  return { ...rest, ...(maxDevices === null ? {} : { maxDevices }) };
}
