import type { ResultOf } from "@gatehouse/client/calls";
import type { Field, Values } from "../../records/form-fields.tsx";

export type Group = ResultOf<"/tenants/groups/{id}", "get">;

export const groupFields: readonly Field[] = [
  { kind: "text", name: "name", label: "Name", required: true },
  { kind: "long-text", name: "description", label: "Description" },
  { kind: "number", name: "maxDevices", label: "Devices at most, of each member", min: 0, max: 1000 },
  { kind: "records", name: "roles", label: "Roles that members inherit", path: "/tenants/roles" },
  {
    kind: "words",
    name: "idpMapping",
    label: "Groups of the identity provider",
    description: "Whoever signs in with one of them belongs here.",
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
  const { maxDevices, ...rest } = values as Omit<GroupBody, "maxDevices"> & { readonly maxDevices: number | null }; // as the fields make them
  return { ...rest, ...(maxDevices === null ? {} : { maxDevices }) };
}
