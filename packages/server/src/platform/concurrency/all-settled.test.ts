import { expect, test } from "vitest";
import { allSettled } from "./all-settled.ts";

test("results are in the order of the promises", async () => {
  expect(await allSettled([Promise.resolve(1), Promise.resolve("two")])).toEqual([1, "two"]);
});

test("an error is thrown after the other promises are settled", async () => {
  let isOver = false;
  const slow = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    isOver = true;
    throw new Error("first in the list");
  });
  await expect(allSettled([slow, Promise.reject(new Error("first in time"))])).rejects.toThrow("first in the list");
  expect(isOver).toBe(true);
});
