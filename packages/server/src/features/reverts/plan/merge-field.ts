/** The value of a field after an event is reverted: later changes of other items of a list are retained. */
import { isDeepStrictEqual } from "node:util";
import type { Field, ItemsField } from "./record-fields.ts";
import type { State } from "./recorded-state.ts";

export interface FieldStates {
  readonly before: State;
  readonly after: State;
  readonly now: State;
}

/** A field whose value an event changed and the revert changes. */
export interface RestoredField {
  readonly field: Field;
  readonly now: unknown;
  readonly restored: unknown;
  /** Items that the revert removes and adds; undefined if it replaces the value as a whole. */
  readonly items: ReadonlySet<string> | undefined;
}

/**
 * @param exists whether a record that the event removed from a field exists
 * @returns undefined if the event did not change the field, or the field has its previous value
 */
export function restoreField(
  field: Field,
  { before, after, now }: FieldStates,
  exists: (id: string) => boolean,
): RestoredField | undefined {
  if (field.kind === "value") {
    const [old, current] = [field.read(before), field.read(now)];
    if (isDeepStrictEqual(old, field.read(after)) || isDeepStrictEqual(old, current)) return undefined;
    return { field, now: current, restored: old, items: undefined };
  }
  const [old, fresh, current] = [field.read(before), field.read(after), field.read(now)];
  if (sameItems(field.kind, old, fresh)) return undefined;
  const known = old.filter((item) => current.includes(item) || exists(item));
  const restored = isReordered(field.kind, old, fresh) ? known : withoutChange(known, fresh, current);
  if (sameItems(field.kind, restored, current)) return undefined;
  const items = [
    ...restored.filter((item) => !current.includes(item)),
    ...current.filter((item) => !restored.includes(item)),
  ];
  const whole = isReordered(field.kind, old, fresh);
  return { field, now: current, restored, items: whole ? undefined : new Set(items) };
}

/** Items that the event removed from a field and that do not exist any more. */
export function missingItems(
  field: ItemsField,
  { before, after, now }: FieldStates,
  exists: (id: string) => boolean,
): readonly string[] {
  const [fresh, current] = [field.read(after), field.read(now)];
  return field.read(before).filter((item) => !fresh.includes(item) && !current.includes(item) && !exists(item));
}

/** The current items without those that the event added, and with those that it removed at their former places. */
function withoutChange(
  old: readonly string[],
  fresh: readonly string[],
  current: readonly string[],
): readonly string[] {
  const restored = current.filter((item) => !fresh.includes(item) || old.includes(item));
  for (const [index, item] of old.entries()) {
    if (fresh.includes(item) || restored.includes(item)) continue;
    const previous = old.slice(0, index).findLast((other) => restored.includes(other));
    restored.splice(previous === undefined ? 0 : restored.indexOf(previous) + 1, 0, item);
  }
  return restored;
}

/** Whether the common items of two lists have different orders. */
function isReordered(kind: ItemsField["kind"], old: readonly string[], fresh: readonly string[]): boolean {
  if (kind === "set") return false;
  const inBoth = (list: readonly string[], other: readonly string[]) => list.filter((item) => other.includes(item));
  return !isDeepStrictEqual(inBoth(old, fresh), inBoth(fresh, old));
}

export function sameItems(kind: ItemsField["kind"], left: readonly string[], right: readonly string[]): boolean {
  return kind === "list" ? isDeepStrictEqual(left, right) : isDeepStrictEqual([...left].sort(), [...right].sort());
}
