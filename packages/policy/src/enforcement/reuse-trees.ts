import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";

/** A tree of these entries that shares what it can with another. */
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

/** The one before where nothing changed. */
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
