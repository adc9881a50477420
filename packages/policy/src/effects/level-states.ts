import type { LevelChange } from "./access-difference.ts";
import type { AccessLevel } from "./access-level.ts";

/**
 * How far the policies have decided about a subject and a destination, in two models at once, as six bits: of the model before,
 * that it may be allowed, that it may be denied, and that nothing after this can change it; three bits further up, the same of
 * the model after.
 */
export const allowBit = 1;
export const denyBit = 2;
export const doneBit = 4;
export const doneInBoth = doneBit | (doneBit << 3);

/** In which of the two models something is. */
export type Sides = 1 | 2 | 3;
export const beforeSide = 1;
export const afterSide = 2;

/** The bits of one model, on some sides. */
export function onSides(bits: number, sides: number): number {
  return ((sides & beforeSide) === 0 ? 0 : bits) | ((sides & afterSide) === 0 ? 0 : bits << 3);
}

/** All bits of those sides that are in `sides`. */
export const sideBits: readonly number[] = [0, 7, 56, 63];

/** Of a state, the bits of the sides that are not done: what can still be set. */
export const undecidedBits: Uint8Array = Uint8Array.from({ length: 64 }, (_, state) => {
  return ((state & doneBit) === 0 ? 7 : 0) | ((state & (doneBit << 3)) === 0 ? 56 : 0);
});

/** Changes of level; 0, the first, is none. Those of one direction in the order of the levels before and after. */
export const changes: readonly (LevelChange | undefined)[] = [
  undefined,
  { direction: "gained", before: "never", after: "sometimes" },
  { direction: "gained", before: "never", after: "always" },
  { direction: "gained", before: "sometimes", after: "always" },
  { direction: "lost", before: "sometimes", after: "never" },
  { direction: "lost", before: "always", after: "never" },
  { direction: "lost", before: "always", after: "sometimes" },
];
export const changeCount = changes.length;

export function isGain(code: number): boolean {
  return code >= 1 && code <= 3;
}

/** Which change a final state is. */
export const changeOf: Uint8Array = Uint8Array.from({ length: 64 }, (_, state) =>
  codeOf(levelOf(state), levelOf(state >> 3)),
);

/** The code of a change of level, 0 for none. */
export function codeOf(before: AccessLevel, after: AccessLevel): number {
  if (before === after) return 0;
  return changes.findIndex((change) => change?.before === before && change.after === after);
}

/** What is not decided by any policy is denied. */
function levelOf(state: number): AccessLevel {
  if ((state & allowBit) === 0) return "never";
  return (state & denyBit) !== 0 || (state & doneBit) === 0 ? "sometimes" : "always";
}
