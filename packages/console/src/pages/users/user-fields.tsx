/** What can be edited of a user, as one form. */
import type { ResultOf } from "@gatehouse/client/calls";
import type { Field, Values } from "../../records/form-fields.tsx";

export type User = ResultOf<"/tenants/users/{id}", "get">;

/** Also for who may see the groups that there are. */
export const groupsField: Field = {
  kind: "records",
  name: "groups",
  label: "Groups",
  description: "One at least.",
  path: "/tenants/groups",
};

export const userFields: readonly Field[] = [
  { kind: "text", name: "firstName", label: "First name" },
  { kind: "text", name: "lastName", label: "Last name" },
  {
    kind: "number",
    name: "maxDevices",
    label: "Devices at most",
    description: "Empty: as the user's groups say.",
    min: 0,
    max: 1000,
  },
  {
    kind: "long-text",
    name: "attributes",
    label: "Attributes",
    description: "For admission rules: one a line, such as department = Engineering.",
    maxLength: 20_000,
  },
];

export function userValues(user: User): Values {
  return {
    firstName: user.firstName ?? "",
    lastName: user.lastName ?? "",
    maxDevices: user.maxDevices,
    groups: user.groups.map(({ id }) => id).sort(),
    attributes: Object.entries(user.attributes)
      .map(([name, value]) => `${name} = ${value}`)
      .join("\n"),
  };
}
