/** What can be edited of a user, as one form over two operations. */
import type { ResultOf } from "@gatehouse/client/calls";
import { api } from "../../app/api.ts";
import { type Field, isSame, type Values } from "../../records/form-fields.tsx";
import { readRecord } from "../../records/use-record.ts";

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

/** Writes what changed, by the operation that takes it; each write is meant for the version that came before. */
export async function saveUser(id: string, before: Values, after: Values, etag: string): Promise<void> {
  const { firstName, lastName, maxDevices, attributes, groups } = after as {
    readonly firstName: string;
    readonly lastName: string;
    readonly maxDevices: number | null;
    readonly attributes: string;
    readonly groups: readonly string[];
  }; // as the fields above make them
  const path = { id };
  let version = etag;
  if (!isSame([before.firstName, before.lastName], [firstName, lastName])) {
    await api.put("/tenants/users/{id}", { path, body: { firstName, lastName }, ifMatch: version });
    version = (await readRecord("/tenants/users/{id}", id)).etag;
  }
  if (!isSame([before.maxDevices, before.attributes], [maxDevices, attributes])) {
    const body = { maxDevices, attributes: readAttributes(attributes) };
    await api.patch("/tenants/users/{id}", { path, body, ifMatch: version });
  }
  const held = before.groups as readonly string[]; // as userValues makes them
  // Those to come first: nobody may be without a group.
  for (const groupId of groups.filter((group) => !held.includes(group))) {
    await api.post("/tenants/users/{id}/groups", { path, body: { groupId } });
  }
  for (const groupId of held.filter((group) => !groups.includes(group))) {
    await api.delete("/tenants/users/{id}/groups/{groupId}", { path: { id, groupId } });
  }
}
