import { expect, test } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import { SharedReads } from "./shared-reads.ts";

test("callers at the same time share one read, and later ones its value while it is retained", async () => {
  const clock = new TestClock();
  const reads = new SharedReads<number>({ clock, retainMs: 1_000, capacity: 1 });
  let loads = 0;
  const load = async () => ++loads;
  expect(await Promise.all([reads.read("a", load), reads.read("a", load)])).toEqual([1, 1]);
  expect(reads.retained("a")).toBe(1);
  clock.advance(1_000);
  expect(reads.retained("a")).toBeUndefined();
  expect(await reads.read("a", load)).toBe(2);
  await reads.read("b", load);
  expect([reads.retained("a"), reads.retained("b")]).toEqual([undefined, 3]);
});

test("a failure reaches the callers that share it, and is not retained", async () => {
  const reads = new SharedReads<number>({ clock: new TestClock(), retainMs: 1_000, capacity: 1 });
  const failing = () => Promise.reject(new Error("no"));
  const both = await Promise.allSettled([reads.read("a", failing), reads.read("a", failing)]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await reads.read("a", async () => 2)).toBe(2);
});
