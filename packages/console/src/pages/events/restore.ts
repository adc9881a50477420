/**
 * What it takes to bring a record back to what the audit record says it was: requests that change it where it is still there,
 * and otherwise one that makes it anew.
 */
import type { ItemAt } from "@gatehouse/client/calls";
import type { PlannedChange } from "../../records/planned-change.ts";
import { type Created, restorerOf, type State } from "./restorers.ts";

export type Event = ItemAt<"/tenants/events">;

export type Restoration =
  | { readonly kind: "impossible"; readonly why: string }
  | { readonly kind: "same" }
  | {
      readonly kind: "update";
      readonly changes: readonly PlannedChange[];
      /** The settings that differ, as they are now and as they were. */
      readonly now: State;
      readonly before: State;
    }
  | ({ readonly kind: "create" } & Created);

/** Of what only lost a reference, the record holds the reference alone. */
function isPartial(type: string, before: State, operation: string): boolean {
  return (type === "user" || type === "policy") && !("createdAt" in before) && operation !== "reorderPolicies";
}

/** Why what an event tells of cannot be put back; undefined where that depends on the record as it is now. */
export function whyImpossible({ before, operation, target }: Event): string | undefined {
  if (target.type === "api-key") {
    return "Of a key only a hash is stored, so it cannot come back. Create a new one, and give it to what used the old one.";
  }
  if (before === undefined) return "There was nothing before: the record was made by this. Delete it on its own page.";
  if (operation === "applyConfiguration") {
    return "This came with a whole configuration, of which the record keeps what changed. Apply the configuration of before.";
  }
  if (isPartial(target.type, before, operation)) {
    return "This came with the deletion of what it named. Put that back from its own event, of the same generation.";
  }
  if (operation === "rotateGatewayToken" || operation === "rotateWebhookSecret") {
    return "Secrets are not kept in the record, so the former one cannot come back.";
  }
  if (operation === "transferOwnership") return "Ownership is handed over to somebody, by the owner, and not put back.";
  if (operation === "updateUserRoles" || operation === "removeRoleFromUser") {
    return "Roles are given and taken off on the pages of the roles.";
  }
  return restorerOf(target.type) === undefined ? "This is nothing that a change could put back." : undefined;
}

/** @param now the record as it is; undefined where it is not there any more */
export function restorationOf(event: Event, now: State | undefined): Restoration {
  const why = whyImpossible(event);
  const restorer = restorerOf(event.target.type);
  const { before } = event;
  if (why !== undefined || restorer === undefined || before === undefined) {
    return { kind: "impossible", why: why ?? "There is nothing to put back." };
  }
  if (now === undefined) {
    const creation = restorer.create?.(before) ?? "A record of this kind cannot be made anew.";
    return typeof creation === "string"
      ? { kind: "impossible", why: creation }
      : { kind: "create", changesAccess: restorer.changesAccess, afterwards: undefined, ...creation };
  }
  const changes = restorer.update?.(`${restorer.path}/${event.target.id}`, before, now) ?? [];
  if (changes.length === 0) return { kind: "same" };
  return { kind: "update", changes, now: restorer.settings(now), before: restorer.settings(before) };
}

/**
 * The order of policies as it was before events that moved them. Policies that none of them moved keep their places; those that
 * were made since stand where they stand now.
 *
 * @param current ids in their order, the default policy left out
 * @param places where each moved policy stood
 */
export function orderBefore(
  current: readonly { readonly id: string; readonly order: number }[],
  places: ReadonlyMap<string, number>,
): readonly string[] {
  return current
    .map(({ id, order }, index) => ({ id, place: places.get(id) ?? order, index }))
    .sort((left, right) => left.place - right.place || left.index - right.index)
    .map(({ id }) => id);
}
