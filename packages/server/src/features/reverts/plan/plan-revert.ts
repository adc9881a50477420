/** Plans the revert of an event. Pure: the same event and the same state give the same plan. */
import { maxChanges } from "@gatehouse/contract/records/change-set";
import type { PolicyType } from "@gatehouse/contract/records/policy";
import type { ReferencedNoun } from "../../../platform/record-references.ts";
import { planDeletion } from "./creation-plan.ts";
import { planRecreation, repairedEntries } from "./deletion-plan.ts";
import { movesOf, planOrder } from "./order-plan.ts";
import { cannot, reasonAgainst } from "./reasons.ts";
import { addressesField, fieldsOf } from "./record-fields.ts";
import { embeddedId, embeddedIn, itemsIn, type State, textIn } from "./recorded-state.ts";
import { type CurrentState, impossible, type NeededState, type RevertedEvent, type RevertPlan } from "./revert-plan.ts";
import { deletedReference, planUpdate, previousSamlDefault, testReferenceOf } from "./update-plan.ts";

export function planRevert(reverted: RevertedEvent, state: CurrentState): RevertPlan {
  return withinLimit(wholePlan(reverted, state));
}

function wholePlan(reverted: RevertedEvent, state: CurrentState): RevertPlan {
  const { event, generation } = reverted;
  const reason = reasonAgainst(event);
  if (reason !== undefined) return impossible(reason);
  const reference = deletedReference(event);
  if (reference !== undefined) {
    const deletion = generation.find(({ target, after }) => target.id === reference && after === undefined);
    return impossible(cannot("part_of_deletion", deletion === undefined ? {} : { event: deletion.id }));
  }
  if (event.operation === "reorderPolicies") return planOrder(reverted, state);
  if (event.before === undefined) return planDeletion(reverted, state);
  return event.after === undefined ? planRecreation(reverted, state) : planUpdate(reverted, state);
}

/** Restored references beyond the limit are left out. The record itself comes first. */
function withinLimit(plan: RevertPlan): RevertPlan {
  const { changes, unplanned = 0 } = plan;
  const left = Math.max(0, changes.length - maxChanges) + unplanned;
  if (left === 0) return plan;
  return {
    ...plan,
    changes: changes.slice(0, maxChanges),
    cannot: [
      ...plan.cannot,
      cannot("too_many_changes", {
        message: `A revert performs at most ${maxChanges} changes. ${left} references are not restored; restore them yourself.`,
      }),
    ],
  };
}

const nothingNeeded: NeededState = { records: [], existing: [], orderOf: undefined, testsOf: undefined, laterOn: [] };

/** The part of the tenant's state that `planRevert` reads for an event: nothing if the event is never reverted. */
export function neededState(reverted: Pick<RevertedEvent, "event" | "generation">): NeededState {
  const { event, generation } = reverted;
  // Entries of documents name records instead of containing their ids.
  if (reasonAgainst(event) !== undefined) return nothingNeeded;
  const { before = {}, after = {}, target } = event;
  const isDeletion = event.after === undefined;
  const reorders = event.operation === "reorderPolicies";
  // The plan repairs no more references than a revert can have requests.
  const repaired = isDeletion ? repairedEntries({ event, generation }).slice(0, maxChanges) : [];
  const groups = isDeletion && target.type === "user" ? itemsIn(before, "groups") : [];
  const saml = previousSamlDefault(reverted);
  return {
    records: [
      ...(isDeletion ? [] : [{ type: target.type, id: target.id }]),
      ...repaired.map((entry) => ({ type: entry.target.type, id: entry.target.id })),
      ...groups.map((id) => ({ type: "group", id })),
    ],
    existing: [
      ...referencesIn(target.type, before),
      ...(saml === undefined ? [] : [{ noun: "group", id: saml } as const]),
    ],
    orderOf: target.type === "policy" && (reorders || isDeletion) ? (textIn(before, "type") as PolicyType) : undefined, // as recorded
    testsOf: isDeletion ? target : undefined,
    laterOn: [
      target.id,
      // The roles that these groups gave at the time of the event.
      ...groups,
      ...(reorders ? movesOf(reverted).map((move) => move.target.id) : []),
      ...[before, after].flatMap((state) => embeddedIn(state, addressesField).map((address) => textIn(address, "id"))),
    ],
  };
}

/** The records that a recorded state refers to. */
function referencesIn(type: string, before: State): NeededState["existing"] {
  const found: { noun: ReferencedNoun; id: string }[] = [];
  const add = (noun: ReferencedNoun, ids: readonly string[]) => found.push(...ids.map((id) => ({ noun, id })));
  for (const field of fieldsOf(type, "")) {
    const value = field.read(before);
    const { refersTo } = field;
    if (refersTo !== undefined) add(refersTo, typeof value === "string" ? [value] : itemsIn({ value }, "value"));
    const reference = type === "access-test" ? testReferenceOf(value) : undefined;
    if (reference !== undefined) add(reference.noun, [reference.id]);
  }
  for (const address of embeddedIn(before, addressesField)) add("protocol", itemsIn(address, "protocols"));
  if (type === "gateway") add("resource", itemsIn(before, "resources"));
  // The resource of an access test can be an address, whose id is a name.
  const owner = type === "device" ? "user" : type === "address" ? "resource" : undefined;
  const id = owner && embeddedId(before, owner);
  if (owner !== undefined && id !== undefined) add(owner, [id]);
  return found;
}
