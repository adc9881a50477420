import { expect, test } from "vitest";
import { Batcher } from "./batcher.ts";

test("hands over all items once", async () => {
  const batcher = new Batcher<string, number>();
  batcher.add("a", 1);
  batcher.add("b", 2);
  batcher.add("a", 3);
  expect(batcher.size).toBe(2);
  expect(await batcher.drain(async (items) => [...items])).toEqual([
    ["a", 3],
    ["b", 2],
  ]);
  expect(batcher.size).toBe(0);
});

test("merges the items of one key", async () => {
  const batcher = new Batcher<string, readonly number[]>((earlier, later) => [...earlier, ...later]);
  for (const item of [1, 2, 3]) batcher.add("a", [item]);
  expect(await batcher.drain(async (items) => items.get("a"))).toEqual([1, 2, 3]);
});

test("takes items back if the write fails, before those that were added meanwhile", async () => {
  const batcher = new Batcher<string, readonly number[]>((earlier, later) => [...earlier, ...later]);
  batcher.add("a", [1]);
  batcher.add("b", [2]);
  const failing = batcher.drain(async () => {
    batcher.add("a", [3]);
    throw new Error("away");
  });
  await expect(failing).rejects.toThrow("away");
  expect(await batcher.drain(async (items) => [...items])).toEqual([
    ["a", [1, 3]],
    ["b", [2]],
  ]);
});
