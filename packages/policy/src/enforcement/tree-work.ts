/** Steps on hash trees as work that can be suspended. */
import { type ContentTree, hashingContent } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { HashText, HashTree, TreeSteps } from "@gatehouse/agent-protocol/link/hash-tree";
import type { Work } from "../work.ts";

/** An entry that is added or removed. */
const changeCost = 60;
/** An entry that is hashed. */
const hashCost = 150;

/** @param changes the new values; undefined removes a key */
export function changingTree<Value>(
  tree: HashTree<Value>,
  changes: ReadonlyMap<string, Value | undefined>,
): Work<HashTree<Value>> {
  return asWork(tree.changing(changes), changeCost);
}

/** Computes the hashes of a content, so that its configuration is made in a short time. */
export function hashing(content: ContentTree, sha256: HashText): Work<void> {
  return asWork(hashingContent(content, sha256), hashCost);
}

/** @param cost the cost of an entry */
function* asWork<Result>(steps: TreeSteps<Result>, cost: number): Work<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    yield step.value * cost;
  }
}
