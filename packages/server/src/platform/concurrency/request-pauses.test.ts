import { beforeEach, expect, test } from "vitest";
import { FakeEventLoop } from "../../testing/fake-event-loop.ts";
import { RequestPauses } from "./request-pauses.ts";

let loop: FakeEventLoop;
let isAlone: boolean;
let pauses: RequestPauses;

beforeEach(() => {
  loop = new FakeEventLoop();
  isAlone = false;
  pauses = new RequestPauses(loop, () => isAlone);
});

/**
 * Uses the database, and pauses.
 *
 * @param othersShare the part of the pause for which the event loop is active
 * @returns the length of the pause, in milliseconds
 */
async function pauseAfter(usedMs: number, othersShare = 1): Promise<number> {
  loop.pass(usedMs);
  const startedAt = loop.now;
  let isOver = false;
  const pause = pauses.after(usedMs);
  if (pause === undefined) return 0;
  void pause.then(() => {
    isOver = true;
  });
  while (!isOver) {
    loop.pass(0.5, othersShare);
    await Promise.resolve();
  }
  return loop.now - startedAt;
}

test("a request pauses for twice the time that it used", async () => {
  expect(await pauseAfter(10)).toBe(20);
  expect(await pauseAfter(40)).toBe(80);
  expect(pauses.pausedMs).toBe(100);
});

test("short uses add up before a pause", async () => {
  expect([await pauseAfter(1), await pauseAfter(2)]).toEqual([0, 0]);
  expect(await pauseAfter(2)).toBe(10);
});

test("a request of a tenant that is alone does not pause", async () => {
  isAlone = true;
  expect(pauses.areDue).toBe(false);
  expect(await pauseAfter(10)).toBe(0);
});

test("pauses are short while others do not need them", async () => {
  expect(await pauseAfter(20, 0.1)).toBe(40);
  expect(await pauseAfter(20, 0.1)).toBe(5);
  // Others become active.
  expect(await pauseAfter(20)).toBe(5);
  expect(await pauseAfter(20)).toBe(40);
});

test("a statement that may have waited for a lock counts in part", async () => {
  expect(await pauseAfter(3_000)).toBe(500);
});

test("all pauses of a request together are bounded", async () => {
  let used = 0;
  while (pauses.areDue) {
    await pauseAfter(100);
    used += 100;
  }
  expect(used).toBe(2_500);
  expect(pauses.pausedMs).toBe(5_000);
  expect(await pauseAfter(100)).toBe(0);
});
