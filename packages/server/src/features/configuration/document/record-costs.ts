/** The costs of work on records, in rule-cost units of about 20 ns. */
import type { Work } from "@gatehouse/policy/work";

/** The cost of converting or comparing a record, without the items of its lists. */
export const recordCost = 400;
/** The cost of an item in a list of a record. */
export const itemCost = 20;
/** The cost of looking at a record. */
export const smallRecordCost = 20;

/** The number of items in the lists of a record. */
export function itemsIn(record: object): number {
  let items = 0;
  for (const key in record) {
    const value = (record as Readonly<Record<string, unknown>>)[key];
    if (Array.isArray(value)) items += value.length;
  }
  return items;
}

/** The number of items that are sorted at once. */
const sortedAtOnce = 1_000;

/** Sorts a list in slices: parts of it first, which are then merged. */
export function* sortedInSlices<T>(items: readonly T[], compare: (a: T, b: T) => number): Work<readonly T[]> {
  let runs: T[][] = [];
  for (let start = 0; start < items.length; start += sortedAtOnce) {
    yield sortedAtOnce * itemCost;
    runs.push(items.slice(start, start + sortedAtOnce).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(yield* mergedInSlices(runs[index] ?? [], runs[index + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedInSlices<T>(one: readonly T[], other: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  const merged: T[] = [];
  let [left, right] = [0, 0];
  while (left < one.length || right < other.length) {
    if (merged.length % sortedAtOnce === 0) yield sortedAtOnce * itemCost;
    const [a, b] = [one[left], other[right]];
    if (b === undefined || (a !== undefined && compare(a, b) <= 0)) {
      merged.push(a as T); // one of the two lists has items left
      left += 1;
    } else {
      merged.push(b);
      right += 1;
    }
  }
  return merged;
}
