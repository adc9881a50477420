import fc from "fast-check";
import { expect, test } from "vitest";
import { sorting } from "./sorting.ts";
import { entriesAtOnce, finish } from "./work.ts";

const texts = fc.array(fc.string({ maxLength: 3 }), { maxLength: 4_000, size: "max" });

test("sorts like an array, and keeps the first texts", () => {
  fc.assert(
    fc.property(texts, fc.nat(5_000), (given, most) => {
      const sorted = [...given].sort();
      expect(finish(sorting(given))).toEqual(sorted);
      expect(finish(sorting(given, most))).toEqual(sorted.slice(0, most));
    }),
    { numRuns: 30 },
  );
});

test("leaves out undefined items, and counts them", () => {
  expect(finish(sorting(["b", undefined, "a"]))).toEqual(["a", "b"]);
  const work = sorting(Array.from({ length: 5_000 }, () => undefined));
  expect([...work].length).toBeGreaterThanOrEqual(5_000 / entriesAtOnce);
});

test.each([
  ["in order", (index: number) => index],
  ["in reverse order", (index: number) => 1_000_000 - index],
  ["in no order", (index: number) => (index * 7_919) % 1_000_003],
])("reads at most 500 texts between two yields if they come %s", (_, at) => {
  let read = 0;
  function* given() {
    for (let index = 0; index < 50_000; index += 1) {
      read += 1;
      yield String(at(index)).padStart(7, "0");
    }
  }
  const work = sorting(given(), 2_000);
  let before = 0;
  let units = 0;
  for (let step = work.next(); step.done !== true; step = work.next()) {
    expect(read - before).toBeLessThanOrEqual(entriesAtOnce);
    before = read;
    units += step.value;
  }
  expect(read).toBe(50_000);
  expect(units).toBeGreaterThan(50_000);
});
