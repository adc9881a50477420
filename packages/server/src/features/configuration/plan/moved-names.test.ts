import fc from "fast-check";
import { expect, test } from "vitest";
import { movedNames } from "./moved-names.ts";

test.each([
  ["abcd", "abcd", ""],
  ["abcd", "dabc", "d"],
  ["abcd", "bcda", "a"],
  ["abcd", "acbd", "c"],
  ["", "", ""],
])("from %s to %s, %s moves", (before, after, moved) => {
  const names = movedNames([...before], [...after]);
  expect(names.size).toBe(moved.length);
  // Moving one of two swapped neighbours is enough.
  if (moved !== "c") expect([...names].join("")).toBe(moved);
});

/** The minimum by exhaustive search. */
function fewestMoves(before: readonly string[], after: readonly string[]): number {
  let most = 0;
  for (let choice = 0; choice < 2 ** before.length; choice += 1) {
    const staying = before.filter((_name, index) => (choice >> index) % 2 === 1);
    const chosen = new Set(staying);
    if (after.filter((name) => chosen.has(name)).join() === staying.join()) most = Math.max(most, staying.length);
  }
  return before.length - most;
}

test("unmoved names keep their order, and the number of moves is minimal", () => {
  const names = [..."abcdefg"];
  fc.assert(
    fc.property(fc.shuffledSubarray(names, { minLength: names.length }), (after) => {
      const moved = movedNames(names, after);
      const stays = (name: string) => !moved.has(name);
      expect(after.filter(stays)).toEqual(names.filter(stays));
      expect(moved.size).toBe(fewestMoves(names, after));
    }),
    { numRuns: 200 },
  );
});
