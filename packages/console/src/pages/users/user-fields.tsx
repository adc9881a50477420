/** What can be edited of a user, as one form over several operations. */
import type { ResultOf } from "@gatehouse/client/calls";
import { type Field, isSame, type Values } from "../../records/form-fields.tsx";
import type { PlannedChange } from "../../records/planned-change.ts";

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

type Attributes = Record<string, string | number | boolean>;

/** `true`, `false` and numbers are what they look like; everything else is text. */
export function readAttributes(text: string): Attributes {
  const attributes: Attributes = {};
  for (const line of text.split("\n")) {
    const [, name, value] = /^\s*([^=]+?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const isNumber = /^-?\d+(?:\.\d+)?$/.test(value) && Number.isFinite(Number(value));
    attributes[name] = value === "true" ? true : value === "false" ? false : isNumber ? Number(value) : value;
  }
  return attributes;
}

/** What writes the difference, by the operations that take it. */
export function userChanges(at: string, before: Values, after: Values): readonly PlannedChange[] {
  const { firstName, lastName, maxDevices, attributes, groups } = after as unknown as UserValues;
  const held = before as unknown as UserValues;
  const changes: PlannedChange[] = [];
  if (!isSame([held.firstName, held.lastName], [firstName, lastName])) {
    changes.push({ method: "PUT", path: at, body: { firstName, lastName } });
  }
  if (!isSame([held.maxDevices, held.attributes], [maxDevices, attributes])) {
    changes.push({ method: "PATCH", path: at, body: { maxDevices, attributes: readAttributes(attributes) } });
  }
  // Those to come first: nobody may be without a group.
  for (const groupId of without(groups, held.groups)) {
    changes.push({ method: "POST", path: `${at}/groups`, body: { groupId } });
  }
  for (const groupId of without(held.groups, groups)) {
    changes.push({ method: "DELETE", path: `${at}/groups/${groupId}` });
  }
  return changes;
}

/** As the fields above make them. */
interface UserValues {
  readonly firstName: string;
  readonly lastName: string;
  readonly maxDevices: number | null;
  readonly attributes: string;
  readonly groups: readonly string[];
}

function without(ids: readonly string[], others: readonly string[]): readonly string[] {
  return ids.filter((id) => !others.includes(id));
}
