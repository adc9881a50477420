/** Later events that a revert undoes, because they changed the same fields. */
import { isDeepStrictEqual } from "node:util";
import type { Event } from "@gatehouse/contract/records/event";
import type { UndoneEvent } from "@gatehouse/contract/records/revert";
import { type RestoredField, sameItems } from "./merge-field.ts";
import type { Field } from "./record-fields.ts";

/** @param fields the fields that lose the event's values; empty if the record is deleted */
export function undoneEvent(event: Event, fields: readonly string[]): UndoneEvent {
  const { id, position, createdAt, operation, target } = event;
  return { id, position, createdAt, operation, target, fields: [...fields] };
}

/** The later events on a record that changed the same values as the revert does. */
export function undoneBy(
  fields: Iterable<RestoredField>,
  later: readonly Event[],
  target: { readonly type: string; readonly id: string },
): readonly UndoneEvent[] {
  const restored = [...fields];
  return later
    .filter((event) => event.target.id === target.id && event.target.type === target.type)
    .flatMap((event) => {
      const names = restored.filter((field) => isUndone(field, event)).map(({ field }) => field.name);
      return names.length === 0 ? [] : [undoneEvent(event, names)];
    });
}

function isUndone({ field, items }: RestoredField, { operation, before, after }: Event): boolean {
  if (before === undefined || after === undefined) return false;
  // These entries hold only the fields that changed, in the format of configuration documents.
  if (operation === "applyConfiguration") return field.name in before || field.name in after;
  if (items === undefined || field.kind === "value") return differs(field, before, after);
  const [old, fresh] = [field.read(before), field.read(after)];
  return [...items].some((item) => old.includes(item) !== fresh.includes(item));
}

/** Whether a field differs between two states of a record. */
export function differs(
  field: Field,
  before: NonNullable<Event["before"]>,
  after: NonNullable<Event["after"]>,
): boolean {
  return field.kind === "value"
    ? !isDeepStrictEqual(field.read(before), field.read(after))
    : !sameItems(field.kind, field.read(before), field.read(after));
}
