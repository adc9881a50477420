import type { IpBlock } from "./ip-block.ts";

export interface Range<Value> {
  readonly first: bigint;
  readonly last: bigint;
  readonly value: Value;
}

/**
 * Splits blocks into disjoint ranges. Each address is in the range of its longest prefix. The kernel's interval maps do
 * not support longest prefix matching.
 *
 * @param blocks blocks of one family, each prefix at most once
 * @returns ranges in ascending order
 */
export function disjointRanges<Value>(blocks: readonly { block: IpBlock; value: Value }[]): readonly Range<Value>[] {
  const order = (left: { block: IpBlock }, right: { block: IpBlock }) =>
    left.block.first < right.block.first
      ? -1
      : left.block.first > right.block.first
        ? 1
        : left.block.prefixLength - right.block.prefixLength;
  const ranges: Range<Value>[] = [];
  /** The blocks around the current position, innermost last. Prefixes nest or are disjoint; they never cross. */
  const open: { block: IpBlock; value: Value }[] = [];
  let next = 0n;
  const close = (until: bigint) => {
    for (let inner = open.at(-1); inner !== undefined && inner.block.last < until; inner = open.at(-1)) {
      if (next <= inner.block.last) ranges.push({ first: next, last: inner.block.last, value: inner.value });
      next = inner.block.last + 1n;
      open.pop();
    }
  };
  for (const entry of [...blocks].sort(order)) {
    close(entry.block.first);
    const around = open.at(-1);
    if (around !== undefined && next < entry.block.first) {
      ranges.push({ first: next, last: entry.block.first - 1n, value: around.value });
    }
    next = entry.block.first;
    open.push(entry);
  }
  close(1n << 128n);
  return ranges;
}
