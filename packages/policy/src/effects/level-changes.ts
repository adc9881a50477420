import type { LevelChange } from "./access-difference.ts";
import type { AccessLevel } from "./access-level.ts";
import { ByteColumn } from "./columns.ts";
import { allowBit, bitsAfter, bitsBefore, denyBit, doneBit, stateCount } from "./level-states.ts";

/**
 * Changes of level, numbered. Change 0 means that nothing changed; 1 to 3 are gains, 4 to 6 are losses. Within a
 * direction, changes are ordered by the level before and then by the level after.
 */
const changes: readonly LevelChange[] = [
  { direction: "gained", before: "never", after: "sometimes" },
  { direction: "gained", before: "never", after: "always" },
  { direction: "gained", before: "sometimes", after: "always" },
  { direction: "lost", before: "sometimes", after: "never" },
  { direction: "lost", before: "always", after: "never" },
  { direction: "lost", before: "always", after: "sometimes" },
];

/** The number of change codes, including 0 for no change. */
export const changeCount = changes.length + 1;

/** A set of change codes: bit `n` represents change `n`. Bit 0, no change, carries no information. */
export type ChangeSet = number;

/** The changes in one set but not in the other. */
export function differentChanges(one: ChangeSet, other: ChangeSet): ChangeSet {
  return (one ^ other) & ~1;
}

/** The lowest change code in a set that is not empty. */
export function lowestChange(changes: ChangeSet): number {
  return 31 - Math.clz32(changes & -changes);
}

export function isGain(change: number): boolean {
  return change >= 1 && change <= 3;
}

export function isLoss(change: number): boolean {
  return change > 3;
}

/** @throws RangeError for 0 and for numbers that are not change codes */
export function levelChange(change: number): LevelChange {
  const levels = changes[change - 1];
  if (levels === undefined) throw new RangeError(`${change} is not a change of level.`);
  return levels;
}

/** The code of a change of level; 0 if both levels are equal. */
export function changeBetween(before: AccessLevel, after: AccessLevel): number {
  if (before === after) return 0;
  return changes.findIndex((change) => change.before === before && change.after === after) + 1;
}

const byState = ByteColumn.from(
  Array.from({ length: stateCount }, (_, state) => state),
  (state) => changeBetween(levelOf(bitsBefore(state)), levelOf(bitsAfter(state))),
);

/** The change of level in a final state. */
export function changeIn(state: number): number {
  return byState.get(state);
}

/** The level in a final state of one model. Access that no policy decides is denied. */
function levelOf(bits: number): AccessLevel {
  if ((bits & allowBit) === 0) return "never";
  return (bits & denyBit) !== 0 || (bits & doneBit) === 0 ? "sometimes" : "always";
}
