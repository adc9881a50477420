/** Reverts a reordering of policies. One reordering has an entry for each policy that it moved. */
import type { Event } from "@gatehouse/contract/records/event";
import { undoneEvent } from "./later-changes.ts";
import { textIn } from "./recorded-state.ts";
import type { CurrentState, RevertedEvent, RevertPlan } from "./revert-plan.ts";

/** The entries of the same reordering. */
export function movesOf({ event, generation }: Pick<RevertedEvent, "event" | "generation">): readonly Event[] {
  const type = textIn(event.before ?? {}, "type");
  return generation.filter(
    ({ operation, before }) => operation === event.operation && textIn(before ?? {}, "type") === type,
  );
}

export function planOrder(reverted: RevertedEvent, { policyOrder }: CurrentState): RevertPlan {
  const { event, later } = reverted;
  const type = textIn(event.before ?? {}, "type");
  const positions = new Map<string, number>();
  for (const { target, before } of movesOf(reverted)) {
    // A change set can move a policy twice. The first entry has the original position.
    if (!positions.has(target.id)) positions.set(target.id, Number(before?.order));
  }
  const current = policyOrder.map(({ id }) => id);
  const policies = orderBefore(policyOrder, positions);
  const body = { type, policies };
  return {
    changes: policies.join() === current.join() ? [] : [{ method: "POST", path: "/tenants/policies/reorder", body }],
    cannot: [],
    undoes: later
      .filter(({ operation, target }) => operation === event.operation && positions.has(target.id))
      .map((entry) => undoneEvent(entry, ["order"])),
    recreated: undefined,
  };
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
