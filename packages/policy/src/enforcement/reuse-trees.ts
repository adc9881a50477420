import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { HashTree } from "@gatehouse/agent-protocol/link/hash-tree";
import { entryCost, forEach, type Work } from "../work.ts";
import { changingTree } from "./tree-work.ts";

/** An entry of a tree that is compared with the former one. */
const comparisonCost = 30;

/**
 * A tree with these entries that shares as much as possible with the previous tree.
 *
 * @param sizeOf the number of parts of a value, if it can have many
 */
export function* reusingTree<Value>(
  before: HashTree<Value> | undefined,
  wanted: ReadonlyMap<string, Value>,
  sizeOf: (value: Value) => number = () => 1,
): Work<HashTree<Value>> {
  const tree: HashTree<Value> = before ?? HashTree.empty;
  const changes = new Map<string, Value | undefined>();
  yield* forEach(tree.entries(), entryCost, ([key]) => {
    if (!wanted.has(key)) changes.set(key, undefined);
  });
  const costOf = ([, value]: readonly [string, Value]) => comparisonCost * sizeOf(value);
  yield* forEach(wanted, costOf, ([key, value]) => {
    if (!isSameValue(tree.get(key), value)) changes.set(key, value);
  });
  return yield* changingTree(tree, changes);
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
