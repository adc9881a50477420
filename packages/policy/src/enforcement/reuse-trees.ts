import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";

/** A tree with these entries that shares as much as possible with the previous tree. */
export function reuseTree<Value>(
  before: HashTree<Value> | undefined,
  entries: Iterable<readonly [string, Value]>,
): HashTree<Value> {
  const wanted = new Map(entries);
  const tree: HashTree<Value> = before ?? HashTree.empty;
  const gone = Array.from(tree.entries()).flatMap(([key]): [string, undefined][] =>
    wanted.has(key) ? [] : [[key, undefined]],
  );
  const put = [...wanted].filter(([key, value]) => !isSameValue(tree.get(key), value));
  return tree.with([...gone, ...put]);
}

function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (one === undefined || one instanceof HashTree) return false;
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The previous content if nothing changed, so that callers can compare by identity. */
export function reuseContent(before: ContentTree | undefined, after: ContentTree): ContentTree {
  if (before === undefined) return after;
  const isSame =
    before.peers === after.peers &&
    before.classes === after.classes &&
    before.resources === after.resources &&
    before.destinations === after.destinations &&
    JSON.stringify(before.settings) === JSON.stringify(after.settings);
  return isSame ? before : after;
}

/** Whether two lists contain the same values in the same order, compared by identity. */
export function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((value, index) => value === other[index]);
}
