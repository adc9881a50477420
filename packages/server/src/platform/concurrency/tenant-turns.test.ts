import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Steps, TenantTurns } from "./tenant-turns.ts";

let now: number;
let done: string[];
let failures: unknown[];
let turns: TenantTurns;
beforeEach(() => {
  now = 0;
  done = [];
  failures = [];
  turns = new TenantTurns((error) => failures.push(error));
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Adds a piece of work whose steps take some time each, in milliseconds. */
function add(tenantId: string, name: string, ...steps: readonly number[]): boolean {
  function* work(): Steps {
    for (const [index, ms] of steps.entries()) {
      if (index > 0) yield;
      now += ms;
      done.push(name);
    }
  }
  return turns.perform(tenantId, work());
}

test("work is performed at once while the event loop has time", async () => {
  expect([add("one", "first", 1), add("two", "second", 5), add("two", "third", 1)]).toEqual([true, true, false]);
  expect(done).toEqual(["first", "second"]);
  await nextTurn();
  expect(done).toEqual(["first", "second", "third"]);
  await nextTurn();
  expect(add("two", "fourth", 1)).toBe(true);
});

test("long pieces of work take a round each, in order", async () => {
  for (const name of ["first", "second", "third"]) add("one", name, 5);
  expect(done).toEqual(["first"]);
  await nextTurn();
  expect(done).toEqual(["first", "second"]);
  await nextTurn();
  expect(done).toEqual(["first", "second", "third"]);
});

test("work that waits is not overtaken by later work of the tenant", async () => {
  add("one", "first", 5);
  add("one", "second", 5);
  add("one", "third", 1);
  await nextTurn();
  expect(add("one", "fourth", 1)).toBe(false);
  await nextTurn();
  expect(done).toEqual(["first", "second", "third", "fourth"]);
});

test("tenants take turns", async () => {
  for (const name of ["first", "second", "third"]) add("one", name, 5);
  add("two", "other", 5);
  add("three", "another", 5);
  for (let round = 0; round < 4; round += 1) await nextTurn();
  expect(done).toEqual(["first", "second", "other", "another", "third"]);
});

test("work in steps is continued in later rounds, before the tenant's next work", async () => {
  expect(add("one", "first", 1, 1, 1, 1, 1)).toBe(false);
  add("one", "second", 1);
  expect(done).toEqual(["first", "first"]);
  add("two", "other", 1);
  await nextTurn();
  expect(done).toEqual(["first", "first", "first", "first"]);
  await nextTurn();
  expect(done.slice(4)).toEqual(["other", "first"]);
  await nextTurn();
  expect(done.slice(6)).toEqual(["second"]);
});

test("work that throws is reported, and other work continues", async () => {
  const error = new Error("broken");
  // biome-ignore lint/correctness/useYield: the only step throws
  function* failing(): Steps {
    now += 5;
    throw error;
  }
  turns.perform("one", failing());
  turns.perform("one", failing());
  add("one", "last", 1);
  await nextTurn();
  await nextTurn();
  expect(failures).toEqual([error, error]);
  expect(done).toEqual(["last"]);
});

test("work that work adds comes after what waits", async () => {
  add("one", "first", 5);
  function* adding(): Steps {
    add("one", "added", 1);
    yield;
    done.push("second");
  }
  turns.perform("one", adding());
  add("one", "third", 1);
  await nextTurn();
  expect(done).toEqual(["first", "second", "third", "added"]);
});
