/** Converts an edited user to requests. */
import type { Values } from "../../records/form-fields.tsx";
import type { PlannedChange } from "../../records/planned-change.ts";

type Attributes = Record<string, string | number | boolean>;

/** Parses one attribute per line. `true`, `false` and numbers keep their types; everything else is a string. */
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

/** Returns the requests that write the difference between two versions of a user. */
export function userChanges(at: string, before: Values, after: Values): readonly PlannedChange[] {
  // `userFields` declares these types.
  const { firstName, lastName, maxDevices, attributes, groups, roles } = after as unknown as UserValues;
  const held = before as unknown as UserValues;
  const changes: PlannedChange[] = [];
  if (held.firstName !== firstName || held.lastName !== lastName) {
    changes.push({ method: "PUT", path: at, body: { firstName, lastName } });
  }
  if (held.maxDevices !== maxDevices || held.attributes !== attributes) {
    changes.push({ method: "PATCH", path: at, body: { maxDevices, attributes: readAttributes(attributes) } });
  }
  const [addedGroups, removedGroups] = [without(groups, held.groups), without(held.groups, groups)];
  if (addedGroups.length + removedGroups.length > 0) {
    changes.push({ method: "PATCH", path: `${at}/groups`, body: { addedGroups, removedGroups } });
  }
  const [addedRoles, removedRoles] = [without(roles, held.roles), without(held.roles, roles)];
  if (addedRoles.length + removedRoles.length > 0) {
    changes.push({ method: "PATCH", path: `${at}/roles`, body: { addedRoles, removedRoles } });
  }
  return changes;
}

/** The values of the fields in user-fields.tsx. */
interface UserValues {
  readonly firstName: string;
  readonly lastName: string;
  readonly maxDevices: number | null;
  readonly attributes: string;
  readonly groups: readonly string[];
  /** Roles that are assigned directly. */
  readonly roles: readonly string[];
}

function without(ids: readonly string[], others: readonly string[]): readonly string[] {
  return ids.filter((id) => !others.includes(id));
}
