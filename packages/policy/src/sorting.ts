import { copyCost, entriesAtOnce, entryCost, type Work } from "./work.ts";

/** The cost of sorting an item within a short run. */
const sortCost = 2 * entryCost;

/**
 * Sorts texts by their code units, as work that can be suspended. Sorted runs are merged.
 *
 * @param texts undefined stands for a text that is left out
 * @param most the number of texts that are wanted. Little more than three times as many are kept
 */
export function sorting(texts: Iterable<string | undefined>, most = Number.POSITIVE_INFINITY): Work<string[]> {
  return sortingBy(byCodeUnits, texts, most);
}

/** Like `sorting`, in the order of a function that compares items as that of `Array.sort` does. */
export function* sortingBy<Item>(
  compare: (one: Item, other: Item) => number,
  items: Iterable<Item | undefined>,
  most = Number.POSITIVE_INFINITY,
): Work<Item[]> {
  /** Each run has at least twice the items of the next, so that an item is merged only a few times. */
  const runs: Item[][] = [];
  let run: Item[] = [];
  let read = 0;
  for (const item of items) {
    if (item !== undefined) run.push(item);
    read += 1;
    if (read < entriesAtOnce) continue;
    yield read * sortCost;
    if (run.length > 0) yield* adding(sorted(run, compare), runs, compare, most);
    run = [];
    read = 0;
  }
  yield read * sortCost;
  let result = sorted(run, compare).slice(0, most);
  for (const longer of runs.reverse()) result = yield* merging(longer, result, compare, most);
  return result;
}

function byCodeUnits(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function sorted<Item>(run: Item[], compare: (one: Item, other: Item) => number): Item[] {
  // Without a function, texts are compared by code units in a quarter of the time.
  return compare === (byCodeUnits as unknown) ? run.sort() : run.sort(compare);
}

function* adding<Item>(
  run: Item[],
  runs: Item[][],
  compare: (one: Item, other: Item) => number,
  most: number,
): Work<void> {
  let added = run;
  for (let last = runs.at(-1); last !== undefined && last.length < 2 * added.length; last = runs.at(-1)) {
    runs.pop();
    added = yield* merging(last, added, compare, most);
  }
  runs.push(added);
}

/** Merges sorted lists, as work that can be suspended. Of equal items, those of the first list come first. */
export function* merging<Item>(
  one: readonly Item[],
  other: readonly Item[],
  compare: (one: Item, other: Item) => number,
  most = Number.POSITIVE_INFINITY,
): Work<Item[]> {
  const count = Math.min(most, one.length + other.length);
  const [last, first] = [one.at(-1), other[0]];
  // Ids are mostly in the order of their creation.
  if (last === undefined || first === undefined || compare(last, first) <= 0) {
    yield (one.length + other.length) * copyCost;
    return one.concat(other).slice(0, count);
  }
  const merged: Item[] = [];
  let [left, right] = [0, 0];
  while (merged.length < count) {
    const [next, alternative] = [one[left], other[right]];
    if (alternative === undefined || (next !== undefined && compare(next, alternative) <= 0)) {
      merged.push(next as Item); // not undefined, because fewer items than both runs have are merged
      left += 1;
    } else {
      merged.push(alternative);
      right += 1;
    }
    if (merged.length % entriesAtOnce === 0) yield entriesAtOnce * entryCost;
  }
  return merged;
}
