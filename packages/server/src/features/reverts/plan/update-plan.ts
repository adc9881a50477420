/** Reverts an event that changed a record: restores the fields that the event changed. */
import type { Change } from "@gatehouse/contract/records/change-set";
import type { Irrevertible } from "@gatehouse/contract/records/revert";
import type { ReferencedNoun } from "../../../platform/record-references.ts";
import { addressChanges } from "./address-changes.ts";
import { differs, undoneBy } from "./later-changes.ts";
import { type FieldStates, missingItems, type RestoredField, restoreField } from "./merge-field.ts";
import { cannot } from "./reasons.ts";
import { type Field, fieldsOf } from "./record-fields.ts";
import { isState, type State, textIn } from "./recorded-state.ts";
import { type CurrentState, impossible, type RevertedEvent, type RevertPlan } from "./revert-plan.ts";
import { updateRequests } from "./update-requests.ts";

/** Events that removed the reference to a deleted record hold nothing but that reference. */
export function deletedReference({ target, before, after }: RevertedEvent["event"]): string | undefined {
  if (before === undefined || after === undefined || "createdAt" in before) return undefined;
  if (target.type !== "user" && target.type !== "policy") return undefined;
  for (const noun of ["group", "user", "device", "resource"]) {
    const reference = before[noun];
    if (isState(reference) && !(noun in after)) return textIn(reference, "id");
  }
  return undefined;
}

export function planUpdate(reverted: RevertedEvent, state: CurrentState): RevertPlan {
  const { event, later } = reverted;
  const { target, before = {}, after = {} } = event;
  const now = state.record(target.type, target.id);
  if (now === undefined) return impossible(recordDeleted(reverted));
  const states = { before, after, now };
  const fields = fieldsOf(target.type, event.operation).filter((field) => differs(field, before, after));
  const addresses = target.type === "resource" ? addressChanges(reverted, state, now) : undefined;
  if (fields.length === 0 && addresses?.changed !== true) {
    return impossible(unchangedReason(event));
  }
  const restored: RestoredField[] = [];
  const reasons: Irrevertible[] = [];
  for (const field of fields) {
    const obstacle = obstacleTo(field, states, reverted, state);
    reasons.push(...obstacle.reasons);
    if (obstacle.whole) continue;
    const result = restoreField(field, states, existsIn(field, state));
    if (result === undefined) continue;
    if (target.type === "policy" && field.name === "mode" && result.restored === undefined) {
      reasons.push(cannot("unsupported", { field: "mode", message: "No request removes the mode of a policy." }));
    } else restored.push(result);
    if (field.name === "posture" && before.posture === undefined) {
      reasons.push(cannot("unsupported", { field: "posture", message: emptyPosture }));
    }
  }
  const saml = samlDefault(reverted, state, now);
  const kept = restored.filter(({ field }) => field.name !== "isSamlDefaultGroup" || saml === undefined);
  return {
    changes: [
      ...updateRequests(target, new Map(kept.map((field) => [field.field.name, field])), now),
      ...(addresses?.changes ?? []),
      ...(saml?.changes ?? []),
    ],
    cannot: [...reasons, ...(addresses?.cannot ?? []), ...(saml?.cannot ?? [])],
    undoes: [...undoneBy(restored, later, target), ...(addresses?.undoes ?? [])],
    recreated: undefined,
  };
}

const emptyPosture = "No request removes the posture of a device. The device gets an empty posture.";

const hiddenRoles =
  "The event does not show whether the user was assigned roles directly that groups also give. Check the user's roles.";

/** The reason why an update without a visible difference is not reverted. */
function unchangedReason({ operation }: RevertedEvent["event"]): Irrevertible {
  if (operation === "enrolDevice") return cannot("user_status");
  // Entries list a role once, whether it is assigned directly, inherited, or both.
  const concernsRoles = operation === "updateUserRoles" || operation === "removeRoleFromUser";
  return concernsRoles ? cannot("unsupported", { field: "roles", message: hiddenRoles }) : cannot("no_setting_changed");
}

function recordDeleted({ event, later }: RevertedEvent): Irrevertible {
  const deletion = later.find(({ target, after }) => target.id === event.target.id && after === undefined);
  return cannot("record_deleted", deletion === undefined ? {} : { event: deletion.id });
}

function existsIn(field: Field, state: CurrentState): (id: string) => boolean {
  const { refersTo } = field;
  return (id) => refersTo === undefined || state.exists(refersTo, id);
}

interface Obstacle {
  /** Whether the field cannot be restored at all. */
  readonly whole: boolean;
  readonly reasons: readonly Irrevertible[];
}

/** References of the previous value to records that do not exist any more. */
function obstacleTo(field: Field, states: FieldStates, { event }: RevertedEvent, state: CurrentState): Obstacle {
  if (field.kind !== "value") {
    const missing = missingItems(field, states, existsIn(field, state));
    return { whole: false, reasons: missing.map((id) => missingRecord(field.name, field.refersTo ?? "", id)) };
  }
  const reference = referenceOf(field, states.before, event.target.type);
  if (reference === undefined || state.exists(reference.noun, reference.id)) return { whole: false, reasons: [] };
  return { whole: true, reasons: [missingRecord(field.name, reference.noun, reference.id)] };
}

/** The record that a field with a single reference refers to. */
function referenceOf(
  field: Field,
  before: State,
  type: string,
): { readonly noun: ReferencedNoun; readonly id: string } | undefined {
  const value = field.read(before);
  if (field.refersTo !== undefined) return typeof value === "string" ? { noun: field.refersTo, id: value } : undefined;
  return type === "access-test" ? testReferenceOf(value) : undefined;
}

/** The record that the subject or the resource of an access test refers to. */
export function testReferenceOf(
  reference: unknown,
): { readonly noun: ReferencedNoun; readonly id: string } | undefined {
  if (!isState(reference)) return undefined;
  const [type, id] = [textIn(reference, "type"), textIn(reference, "id")];
  return id !== "" && (type === "user" || type === "group" || type === "device" || type === "resource")
    ? { noun: type, id }
    : undefined;
}

export function missingRecord(field: string, type: string, id: string): Irrevertible {
  return cannot("missing_record", { field, record: { type, id } });
}

interface SamlDefault {
  readonly changes: readonly Change[];
  readonly cannot: readonly Irrevertible[];
}

/**
 * The group that was the SAML default before: a group loses this mark only when another group gets it.
 *
 * @returns undefined if the event did not mark the group, or the mark has moved on
 */
export function samlDefault(reverted: RevertedEvent, state: CurrentState, now: State): SamlDefault | undefined {
  const { event } = reverted;
  const marked = event.after?.isSamlDefaultGroup === true && event.before?.isSamlDefaultGroup !== true;
  if (event.target.type !== "group" || !marked || now.isSamlDefaultGroup !== true) return undefined;
  const previous = previousSamlDefault(reverted);
  if (previous === undefined || !state.exists("group", previous)) {
    return { changes: [], cannot: [cannot("saml_default_group", { field: "isSamlDefaultGroup" })] };
  }
  return {
    changes: [{ method: "PUT", path: `/tenants/groups/${previous}`, body: { isSamlDefaultGroup: true } }],
    cannot: [],
  };
}

/**
 * The group that lost the mark of the SAML default group to the event's group. Its entry precedes the event. A change
 * set can move the mark several times, so the last such entry counts.
 */
export function previousSamlDefault({
  event,
  generation,
}: Pick<RevertedEvent, "event" | "generation">): string | undefined {
  return generation.findLast(
    ({ position, target, before, after }) =>
      position < event.position &&
      target.type === "group" &&
      before?.isSamlDefaultGroup === true &&
      after?.isSamlDefaultGroup === false,
  )?.target.id;
}
