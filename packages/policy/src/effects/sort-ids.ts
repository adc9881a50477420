import { entriesAtOnce, entryCost, type Work } from "../work.ts";

/** The cost of sorting one id within a short list. */
const sortCost = 2 * entryCost;

/** Sorts ids, as work that can be suspended. The sort of a long list takes longer than a time slice. */
export function* sortingIds(ids: Iterable<string>): Work<readonly string[]> {
  let lists: string[][] = [];
  let list: string[] = [];
  for (const id of ids) {
    list.push(id);
    if (list.length < entriesAtOnce) continue;
    lists.push(list.sort());
    yield list.length * sortCost;
    list = [];
  }
  lists.push(list.sort());
  while (lists.length > 1) {
    const merged: string[][] = [];
    for (let index = 0; index < lists.length; index += 2) {
      const [one = [], other] = [lists[index], lists[index + 1]];
      merged.push(other === undefined ? one : yield* merging(one, other));
    }
    lists = merged;
  }
  return lists[0] ?? [];
}

function* merging(one: readonly string[], other: readonly string[]): Work<string[]> {
  const merged: string[] = [];
  let [left, right] = [0, 0];
  while (left < one.length || right < other.length) {
    const [a, b] = [one[left], other[right]];
    if (b === undefined || (a !== undefined && a <= b)) {
      merged.push(a ?? "");
      left += 1;
    } else {
      merged.push(b);
      right += 1;
    }
    if (merged.length % entriesAtOnce === 0) yield entriesAtOnce * entryCost;
  }
  return merged;
}
