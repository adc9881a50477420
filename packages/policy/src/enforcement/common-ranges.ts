import { type IpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";

/**
 * Returns the ranges of the addresses that are in all lists, in ascending order and without overlaps. There are at most
 * as many as in all lists together. The time grows with that number, and not with the number of pairs of nested ranges.
 */
export function commonRanges(lists: readonly (readonly IpRange[])[]): readonly IpRange[] {
  // At most one range of a list without nested ranges contains an address, so the depth counts lists.
  return rangesAtDepth(
    lists.flatMap((list) => rangesAtDepth(list, 1)),
    lists.length,
  );
}

/** The ranges that are in `depth - 1` others. Ranges nest or are disjoint; they never cross. */
function rangesAtDepth(ranges: readonly IpRange[], depth: number): readonly IpRange[] {
  const found: IpRange[] = [];
  /** The ranges around the current one, innermost last. */
  const open: IpRange[] = [];
  for (const range of ranges.toSorted(compareRanges)) {
    for (let inner = open.at(-1); inner !== undefined && !rangeContains(inner, range); inner = open.at(-1)) open.pop();
    open.push(range);
    if (open.length === depth) found.push(range);
  }
  return found;
}

/** Orders each range before the ranges in it. */
function compareRanges(one: IpRange, other: IpRange): number {
  if (one.version !== other.version) return one.version - other.version;
  if (one.first !== other.first) return one.first < other.first ? -1 : 1;
  return one.prefixLength - other.prefixLength;
}
