/** References to a deleted record, which the deletion removed from groups and policies, with an event for each. */
import { paged } from "../../app/api.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import { readRecord } from "../../records/use-record.ts";
import type { Event } from "./restore.ts";

const events = paged("/tenants/events");
const pageLimit = 100;
/** The limit of one preview. */
const mostChanges = 100;

/** The list of a policy that refers to records of a type. */
const lists = { group: "groups", user: "users", device: "devices", resource: "resources" } as const;

/** @returns the requests that restore memberships and references of policies, with the new id of the record */
export async function referringAgain(event: Event, newId: string): Promise<readonly PlannedChange[]> {
  const { type, id } = event.target;
  const list = lists[type as keyof typeof lists] as (typeof lists)[keyof typeof lists] | undefined; // undefined for other types
  if (list === undefined) return [];
  const { data } = await events.read({
    "filter[generation]": event.generation,
    "filter[operation]": event.operation,
    sort: "position",
    limit: pageLimit,
  });
  const left = data.filter(({ before }) => isReference(before?.[type], id));
  const members = left
    .filter(({ target }) => target.type === "user")
    .map(
      ({ target }): PlannedChange => ({
        method: "POST",
        path: `/tenants/users/${target.id}/groups`,
        body: { groupId: newId },
      }),
    );
  const naming = await Promise.all(
    left
      .filter(({ target }) => target.type === "policy")
      .map(async ({ target }): Promise<PlannedChange> => {
        const { record } = await readRecord("/tenants/policies/{id}", target.id);
        const named: readonly { readonly id: string }[] = record[list];
        return {
          method: "PATCH",
          path: `/tenants/policies/${target.id}`,
          body: { [list]: [...named.map((each) => each.id), newId] },
        };
      }),
  );
  return [...members, ...naming].slice(0, mostChanges);
}

function isReference(value: unknown, id: string): boolean {
  return typeof value === "object" && value !== null && "id" in value && value.id === id;
}
