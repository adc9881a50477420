/**
 * An upper bound of the size of a value. The weight counts characters of text and elements of lists. Work and memory
 * grow with the weight.
 */
export interface Size {
  readonly weight: number;
  /** The number of elements in a comprehension over the value. */
  readonly count: number;
  /** The weight of the heaviest element. */
  readonly each: number;
  /** 0 for a scalar or text, 1 for a list of those, and so on. */
  readonly nesting: number;
  /** True if the value is certainly a list or a map. Its characters are not read or copied with it. */
  readonly isList?: boolean;
}

export const SCALAR: Size = { weight: 1, count: 1, each: 1, nesting: 0 };

/** Keeps products finite, so that no estimate becomes NaN. */
const BEYOND_EVERY_LIMIT = 1e12;

export function literalSize(value: unknown): Size {
  if (typeof value === "string" || value instanceof Uint8Array) return textSize(value.length);
  return SCALAR;
}

export function textSize(characters: number): Size {
  const weight = bounded(characters + 1);
  return { weight, count: 1, each: weight, nesting: 0 };
}

export function listSize(count: number, each: number, nesting: number): Size {
  return { weight: bounded(1 + count * each), count: bounded(count), each: bounded(each), nesting, isList: true };
}

/** An element could itself be a list, of as many elements as it weighs. */
export function elementOf(size: Size): Size {
  const nesting = Math.max(0, size.nesting - 1);
  return { weight: size.each, count: nesting === 0 ? 1 : size.each, each: size.each, nesting };
}

export function concatenated(a: Size, b: Size): Size {
  return {
    weight: bounded(a.weight + b.weight),
    count: bounded(a.count + b.count),
    each: a.nesting === 0 && b.nesting === 0 ? bounded(a.weight + b.weight) : Math.max(a.each, b.each),
    nesting: Math.max(a.nesting, b.nesting),
    // The sum of a list and anything else is an error.
    isList: a.isList === true || b.isList === true,
  };
}

export function larger(a: Size, b: Size): Size {
  return {
    weight: Math.max(a.weight, b.weight),
    count: Math.max(a.count, b.count),
    each: Math.max(a.each, b.each),
    nesting: Math.max(a.nesting, b.nesting),
    isList: a.isList === true && b.isList === true,
  };
}

export function bounded(amount: number): number {
  return Math.min(amount, BEYOND_EVERY_LIMIT);
}
