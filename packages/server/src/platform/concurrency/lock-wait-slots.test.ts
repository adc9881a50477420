import { expect, test } from "vitest";
import { LockWaitSlots, type Slot } from "./lock-wait-slots.ts";

/** Slots, and the names of the work that has received one. */
function observed(short: number, long: number) {
  const slots = new LockWaitSlots({ short, long });
  const entered = new Map<string, Slot | undefined>();
  const enter = (name: string, waitMs: number) => {
    void slots.acquire(waitMs).then((slot) => entered.set(name, slot));
  };
  const release = async (name: string) => {
    await Promise.resolve();
    entered.get(name)?.release();
    await Promise.resolve();
  };
  return { slots, entered, enter, release };
}

test("work with long waits leaves the slots of short ones free", async () => {
  const { entered, enter, release } = observed(1, 1);
  enter("long 1", 9_000);
  enter("long 2", 9_000);
  enter("short", 500);
  await Promise.resolve();
  expect([...entered.keys()]).toEqual(["long 1", "short"]);
  await release("short");
  expect(entered.size).toBe(2);
  await release("long 1");
  expect([...entered.keys()].at(-1)).toBe("long 2");
});

test("a free slot belongs to the work with the shortest wait, and then to the first", async () => {
  const { entered, enter, release } = observed(1, 1);
  for (const [name, waitMs] of [
    ["first", 500],
    ["failed twice", 9_500],
    ["failed often", 10_000],
    ["failed three times", 9_800],
    ["failed once", 2_000],
    ["second", 500],
    ["third", 500],
  ] as const) {
    enter(name, waitMs);
  }
  for (const name of ["first", "second", "third", "failed once"]) await release(name);
  for (const name of ["failed twice", "failed three times"]) await release(name);
  expect([...entered.keys()]).toEqual([
    "first",
    "failed twice",
    "second",
    "third",
    "failed once",
    "failed three times",
    "failed often",
  ]);
});

test("slow work takes a long slot as soon as one is free", async () => {
  const { entered, enter, release } = observed(1, 1);
  enter("long", 9_000);
  enter("slow", 500);
  enter("next", 500);
  enter("next long", 9_000);
  await Promise.resolve();
  entered.get("slow")?.becomeLong();
  await Promise.resolve();
  expect([...entered.keys()]).toEqual(["long", "slow"]);
  await release("long");
  expect([...entered.keys()]).toEqual(["long", "slow", "next"]);
  await release("next");
  expect(entered.has("next long")).toBe(false);
  await release("slow");
  expect(entered.has("next long")).toBe(true);
});

test("work that waits receives no slot once the slots are closed", async () => {
  const { slots, entered, enter } = observed(1, 1);
  enter("first", 500);
  enter("second", 500);
  await Promise.resolve();
  slots.close();
  enter("third", 500);
  await Promise.resolve();
  expect(entered.get("first")).toBeDefined();
  expect([...entered.keys()]).toEqual(["first", "second", "third"]);
  expect(entered.get("second")).toBeUndefined();
  expect(entered.get("third")).toBeUndefined();
});

test("work that gets no slot in time gives up, and the next one is served", async () => {
  const slots = new LockWaitSlots({ short: 1, long: 1 });
  const first = await slots.acquire(500);
  expect(await slots.acquire(500, 10)).toBeUndefined();
  const next = slots.acquire(500);
  first?.release();
  expect(await next).toBeDefined();
});
