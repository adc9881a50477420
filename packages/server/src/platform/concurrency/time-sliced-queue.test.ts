import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TimeSlicedQueue } from "./time-sliced-queue.ts";

const fail = (error: unknown): never => {
  throw error;
};

let now: number;
// A busy machine would end a slice early.
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

test("executes work in order, and not before the current turn of the event loop ends", async () => {
  const queue = new TimeSlicedQueue(fail);
  const done: number[] = [];
  for (const item of [1, 2, 3]) queue.add(() => done.push(item));
  expect(done).toEqual([]);
  await nextTurn();
  expect(done).toEqual([1, 2, 3]);
});

test("yields to the event loop after a slice, and continues with the rest", async () => {
  const queue = new TimeSlicedQueue(fail);
  const done: number[] = [];
  for (const item of [1, 2, 3]) {
    queue.add(() => {
      now += 3;
      done.push(item);
    });
  }
  await nextTurn();
  expect(done).toEqual([1, 2]);
  await nextTurn();
  expect(done).toEqual([1, 2, 3]);
});

test("reports work that throws, and continues with the rest", async () => {
  const failures: unknown[] = [];
  const queue = new TimeSlicedQueue((error) => failures.push(error));
  const error = new Error("broken");
  let isDone = false;
  queue.add(() => fail(error));
  queue.add(() => {
    isDone = true;
  });
  await nextTurn();
  expect(failures).toEqual([error]);
  expect(isDone).toBe(true);
});

test("executes work that is added by work", async () => {
  const queue = new TimeSlicedQueue(fail);
  const done: string[] = [];
  queue.add(() => {
    done.push("first");
    queue.add(() => done.push("second"));
  });
  await nextTurn();
  await nextTurn();
  expect(done).toEqual(["first", "second"]);
});
