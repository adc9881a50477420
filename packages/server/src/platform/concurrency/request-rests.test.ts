import { beforeEach, expect, test } from "vitest";
import { FakeEventLoop } from "../../testing/fake-event-loop.ts";
import { RequestRests } from "./request-rests.ts";

let loop: FakeEventLoop;
let isAlone: boolean;
let rests: RequestRests;

beforeEach(() => {
  loop = new FakeEventLoop();
  isAlone = false;
  rests = new RequestRests(loop, () => isAlone);
});

/**
 * Uses the database, and rests.
 *
 * @param othersShare the part of the rest for which the event loop is active
 * @returns the length of the rest, in milliseconds
 */
async function restAfter(usedMs: number, othersShare = 1): Promise<number> {
  loop.pass(usedMs);
  const startedAt = loop.now;
  let isOver = false;
  const rest = rests.after(usedMs);
  if (rest === undefined) return 0;
  void rest.then(() => {
    isOver = true;
  });
  while (!isOver) {
    loop.pass(0.5, othersShare);
    await Promise.resolve();
  }
  return loop.now - startedAt;
}

test("a request rests for twice the time that it used", async () => {
  expect(await restAfter(10)).toBe(20);
  expect(await restAfter(40)).toBe(80);
  expect(rests.restedMs).toBe(100);
});

test("short uses add up before a rest", async () => {
  expect([await restAfter(1), await restAfter(2)]).toEqual([0, 0]);
  expect(await restAfter(2)).toBe(10);
});

test("a request of a tenant that is alone does not rest", async () => {
  isAlone = true;
  expect(rests.areDue).toBe(false);
  expect(await restAfter(10)).toBe(0);
});

test("rests are short while others do not need them", async () => {
  expect(await restAfter(20, 0.1)).toBe(40);
  expect(await restAfter(20, 0.1)).toBe(5);
  // Others become active.
  expect(await restAfter(20)).toBe(5);
  expect(await restAfter(20)).toBe(40);
});

test("a statement that may have waited for a lock counts in part", async () => {
  expect(await restAfter(3_000)).toBe(500);
});

test("all rests of a request together are bounded", async () => {
  let used = 0;
  while (rests.areDue) {
    await restAfter(100);
    used += 100;
  }
  expect(used).toBe(2_500);
  expect(rests.restedMs).toBe(5_000);
  expect(await restAfter(100)).toBe(0);
});
