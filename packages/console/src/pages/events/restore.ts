/**
 * The requests that restore a record to its state before an event: requests that change an existing record, or one that
 * creates a deleted record again.
 */
import type { ItemAt } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import type { PlannedChange } from "../../records/planned-change.ts";
import { type Created, revertPlanOf, type State } from "./revert-plans.ts";

export type Event = ItemAt<"/tenants/events">;

export type Restoration =
  | { readonly kind: "impossible"; readonly why: string }
  | { readonly kind: "same" }
  | {
      readonly kind: "update";
      readonly changes: readonly PlannedChange[];
      /** The settings that differ, with their current and their previous values. */
      readonly now: State;
      readonly before: State;
    }
  | ({ readonly kind: "create" } & Created);

/** An event that only removed a reference holds nothing but that reference. */
function isPartial(type: string, before: State, operation: string): boolean {
  return (type === "user" || type === "policy") && !("createdAt" in before) && operation !== "reorderPolicies";
}

/** The reason why an event cannot be restored; undefined if that depends on the current record. */
export function whyImpossible({ before, operation, target }: Event): string | undefined {
  if (target.type === "api-key") {
    return t("events.restore.impossible.apiKey");
  }
  if (before === undefined) return t("events.restore.impossible.created");
  if (operation === "applyConfiguration") {
    return t("events.restore.impossible.configuration");
  }
  if (isPartial(target.type, before, operation)) {
    return t("events.restore.impossible.partial");
  }
  if (operation === "rotateGatewayToken" || operation === "rotateWebhookSecret") {
    return t("events.restore.impossible.secret");
  }
  if (operation === "transferOwnership") return t("events.restore.impossible.ownership");
  if (operation === "updateUserRoles" || operation === "removeRoleFromUser") {
    return t("events.restore.impossible.roles");
  }
  return revertPlanOf(target.type) === undefined ? t("events.restore.impossible.unsupported") : undefined;
}

/** @param now the current record; undefined if it was deleted */
export function restorationOf(event: Event, now: State | undefined): Restoration {
  const why = whyImpossible(event);
  const revertPlan = revertPlanOf(event.target.type);
  const { before } = event;
  if (why !== undefined || revertPlan === undefined || before === undefined) {
    return { kind: "impossible", why: why ?? t("events.restore.impossible.default") };
  }
  if (now === undefined) {
    const creation = revertPlan.create?.(before) ?? t("events.restore.impossible.kind");
    return typeof creation === "string"
      ? { kind: "impossible", why: creation }
      : { kind: "create", changesAccess: revertPlan.changesAccess, afterwards: undefined, ...creation };
  }
  const changes = revertPlan.update?.(`${revertPlan.path}/${event.target.id}`, before, now) ?? [];
  if (changes.length === 0) return { kind: "same" };
  return { kind: "update", changes, now: revertPlan.settings(now), before: revertPlan.settings(before) };
}

/**
 * The order of policies before the events that moved them. Other policies keep their positions, as do policies that
 * were created since.
 *
 * @param current policies in their order, without the default policy
 * @param positions the previous position of each moved policy
 */
export function orderBefore(
  current: readonly { readonly id: string; readonly order: number }[],
  positions: ReadonlyMap<string, number>,
): readonly string[] {
  return current
    .map(({ id, order }, index) => ({ id, position: positions.get(id) ?? order, index }))
    .sort((left, right) => left.position - right.position || left.index - right.index)
    .map(({ id }) => id);
}
