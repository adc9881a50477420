/**
 * The state of a subject and a destination while the policies are evaluated, for both models at once, as six bits.
 * The lowest three bits belong to the model before the change:
 *
 * - allow: some policy may allow the access
 * - deny: some policy may deny or restrict the access
 * - done: a policy certainly qualifies, so no later policy is evaluated
 *
 * The upper three bits mean the same for the model after the change.
 */
export const allowBit = 1;
export const denyBit = 2;
export const doneBit = 4;

const sideWidth = 3;
const bitsOfOneSide = allowBit | denyBit | doneBit;

/** The number of states, and the first number that has no bits in common with a state. */
export const stateCount = 1 << (2 * sideWidth);

/** The models in which something exists: before, after, or both. */
export type Sides = 1 | 2 | 3;
export const beforeSide = 1;
export const afterSide = 2;
export const bothSides = 3;

/** The bits of one model, set for the given sides. */
export function onSides(bits: number, sides: number): number {
  return ((sides & beforeSide) === 0 ? 0 : bits) | ((sides & afterSide) === 0 ? 0 : bits << sideWidth);
}

/** All bits of the given sides. */
export function maskOf(sides: number): number {
  return onSides(bitsOfOneSide, sides);
}

/** The bits that a later policy can still set: all bits of each side that is not done. */
export function undecidedBits(state: number): number {
  return (
    ((state & doneBit) === 0 ? bitsOfOneSide : 0) |
    ((state & (doneBit << sideWidth)) === 0 ? bitsOfOneSide << sideWidth : 0)
  );
}

/** Adds bits to a state, except on the sides that are done. */
export function withBits(state: number, bits: number): number {
  return state | (bits & undecidedBits(state));
}

/** The bits of the model before the change. */
export function bitsBefore(state: number): number {
  return state & bitsOfOneSide;
}

/** The bits of the model after the change, shifted to the lowest three bits. */
export function bitsAfter(state: number): number {
  return state >> sideWidth;
}
