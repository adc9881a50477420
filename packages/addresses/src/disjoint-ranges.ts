import { type Family, type IpBlock, parseIpBlock } from "./ip-block.ts";

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

/** Finds the range that contains a number, in ascending and disjoint ranges. */
export function rangeAt<Value>(ranges: readonly Range<Value>[], number: bigint): Range<Value> | undefined {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.last ?? 0n) < number) low = middle + 1;
    else high = middle;
  }
  const found = ranges[low];
  return found !== undefined && found.first <= number ? found : undefined;
}

/**
 * Returns a check of whether an address is in one of many blocks. Its time grows with the logarithm of their number.
 *
 * @param texts blocks as `parseIpBlock` reads them; others contain no address
 */
export function blockCheck(texts: readonly string[]): (address: string) => boolean {
  const blocks = new Map<string, IpBlock>();
  for (const text of texts) {
    const block = parseIpBlock(text);
    if (block !== undefined) blocks.set(`${block.family} ${block.first} ${block.prefixLength}`, block);
  }
  const rangesOf = (family: Family) =>
    disjointRanges([...blocks.values()].flatMap((block) => (block.family === family ? [{ block, value: true }] : [])));
  const ranges = { 4: rangesOf(4), 6: rangesOf(6) };
  return (address) => {
    const single = parseIpBlock(address);
    return single !== undefined && rangeAt(ranges[single.family], single.first) !== undefined;
  };
}
