import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { budgeted } from "../../../../test/budget.ts";
import { HashTree } from "./hash-tree.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const changes = fc.array(
  fc.tuple(
    fc.integer({ min: 0, max: 400 }).map((n) => `key-${n}`),
    fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  ),
  { maxLength: 300, size: "max" },
);

function treeOf(map: ReadonlyMap<string, number>) {
  return HashTree.of(map);
}

test("a tree holds what a map would, and its root tells the entries and nothing else", () => {
  fc.assert(
    fc.property(fc.array(changes, { maxLength: 5 }), (batches) => {
      const map = new Map<string, number>();
      let tree: HashTree<number> = HashTree.empty;
      for (const batch of batches) {
        tree = tree.with(batch);
        for (const [key, value] of new Map(batch)) {
          if (value === undefined) map.delete(key);
          else map.set(key, value);
        }
        tree.root(sha256);
      }
      expect(new Map(tree.entries())).toEqual(map);
      expect(tree.size).toBe(map.size);
      for (const [key, value] of map) expect(tree.get(key)).toBe(value);
      expect(tree.get("absent")).toBeUndefined();
      expect(tree.root(sha256)).toBe(treeOf(map).root(sha256));
      expect(treeOf(new Map([...map].reverse())).root(sha256)).toBe(tree.root(sha256));
      expect(tree.with([["another", 1]]).root(sha256)).not.toBe(tree.root(sha256));
    }),
    { numRuns: budgeted(100, 20) },
  );
});

test("the changes from one tree to another lead there, and name nothing that is the same", () => {
  fc.assert(
    fc.property(changes, changes, (one, other) => {
      const before = HashTree.of<number>([]).with(one);
      const after = before.with(other);
      const { put, remove } = before.changesTo(after, sha256);
      for (const [key, value] of put) expect(before.get(key)).not.toBe(value);
      for (const key of remove) expect(after.get(key)).toBeUndefined();
      const led = before.with([...remove.map((key): [string, undefined] => [key, undefined]), ...put]);
      expect(led.root(sha256)).toBe(after.root(sha256));
    }),
    { numRuns: budgeted(100, 20) },
  );
});

test("changing one of 30,000 entries costs a few hashes", () => {
  const tree = HashTree.of(
    Array.from({ length: 30_000 }, (_, index) => [`100.64.${index >> 8}.${index & 255}`, index]),
  );
  tree.root(sha256);
  let hashes = 0;
  const counted = (text: string) => {
    hashes += 1;
    return sha256(text);
  };
  const after = tree.with([["100.64.3.7", -1]]);
  after.root(counted);
  expect(tree.changesTo(after, counted).put).toEqual([["100.64.3.7", -1]]);
  expect(hashes).toBeLessThan(80);
});
