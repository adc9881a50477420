/** Reverts an event that deleted a record: creates the record again, and repairs the references to it. */
import { type Change, maxChanges } from "@gatehouse/contract/records/change-set";
import type { Event } from "@gatehouse/contract/records/event";
import type { Irrevertible } from "@gatehouse/contract/records/revert";
import { cannot } from "./reasons.ts";
import { isState, itemsIn, type State, textIn } from "./recorded-state.ts";
import { recreations } from "./recreations.ts";
import { type CurrentState, impossible, type RevertedEvent, type RevertPlan } from "./revert-plan.ts";
import { deletedReference, testReferenceOf } from "./update-plan.ts";

/** The name of the created record in the changes of a revert. */
export const recreatedName = "reverted";
export const recreatedReference = `@${recreatedName}`;

export function planRecreation(reverted: RevertedEvent, state: CurrentState): RevertPlan {
  const { event } = reverted;
  const { type, id } = event.target;
  const recreate = recreations[type];
  if (recreate === undefined) return impossible(cannot("unsupported"));
  const result = recreate(event.before ?? {}, { reverted, state, ref: recreatedReference });
  if (!("create" in result)) return impossible(...result.cannot);
  const repairs = repairedReferences(reverted, state);
  return {
    changes: [{ ...result.create, as: recreatedName }, ...result.afterwards, ...repairs.changes],
    cannot: [...result.cannot, ...repairs.cannot],
    undoes: [],
    recreated: { type, as: recreatedName, formerId: id },
    ...(repairs.unplanned === 0 ? {} : { unplanned: repairs.unplanned }),
  };
}

/** The entries about references to a deleted record that the deletion removed. */
export function repairedEntries({ event, generation }: Pick<RevertedEvent, "event" | "generation">): readonly Event[] {
  const { type, id } = event.target;
  return generation.filter((entry) => deletedReference(entry) === id && isState(entry.before?.[type]));
}

interface Repairs {
  readonly changes: readonly Change[];
  readonly cannot: readonly Irrevertible[];
  /** The number of references beyond the limit. */
  readonly unplanned: number;
}

/** The list of a policy that refers to records of a type. */
const policyLists: Readonly<Record<string, string>> = {
  group: "groups",
  user: "users",
  device: "devices",
  resource: "resources",
};

/** The memberships, policies and access tests that referred to the deleted record. */
function repairedReferences(reverted: RevertedEvent, state: CurrentState): Repairs {
  const { event } = reverted;
  const { type, id } = event.target;
  const changes: Change[] = [];
  const reasons: Irrevertible[] = [];
  const list = policyLists[type];
  const repaired = repairedEntries(reverted);
  for (const { target } of repaired.slice(0, maxChanges)) {
    const now = state.record(target.type, target.id);
    if (now === undefined) {
      reasons.push(cannot("missing_record", { record: { type: target.type, id: target.id } }));
    } else if (target.type === "user") {
      const body = { groupId: recreatedReference };
      changes.push({ method: "POST", path: `/tenants/users/${target.id}/groups`, body });
    } else if (list !== undefined) {
      const body = { [list]: [...itemsIn(now, list), recreatedReference] };
      changes.push({ method: "PATCH", path: `/tenants/policies/${target.id}`, body });
    }
  }
  for (const test of state.accessTests) changes.push(testRepair(test, id));
  return { changes, cannot: reasons, unplanned: Math.max(0, repaired.length - maxChanges) };
}

/** Points the subject and the resource of an access test to the created record. */
function testRepair(test: State, formerId: string): Change {
  const fields = (["subject", "resource"] as const).flatMap((name) => {
    const reference = test[name];
    if (!isState(reference) || testReferenceOf(reference)?.id !== formerId) return [];
    const { name: _name, ...own } = reference;
    return [[name, { ...own, id: recreatedReference }] as const];
  });
  return { method: "PUT", path: `/tenants/access-tests/${textIn(test, "id")}`, body: Object.fromEntries(fields) };
}
