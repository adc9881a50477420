/** What was typed of a user, as requests to the operations that take it. */
import type { Values } from "../../records/form-fields.tsx";
import type { PlannedChange } from "../../records/planned-change.ts";

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
  if (held.firstName !== firstName || held.lastName !== lastName) {
    changes.push({ method: "PUT", path: at, body: { firstName, lastName } });
  }
  if (held.maxDevices !== maxDevices || held.attributes !== attributes) {
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
