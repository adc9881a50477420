import { describe, expect, test } from "vitest";
import { issueTime, orderToFollow, RefusalBackoff } from "./configuration-timing.ts";

test("doubles the wait after a refusal, from 30 seconds to 10 minutes", () => {
  const backoff = new RefusalBackoff();
  expect([backoff.isWaiting(0), backoff.isDue(0)]).toEqual([false, false]);
  let now = 0;
  for (const waitMs of [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]) {
    backoff.refused(now);
    now += waitMs - 1;
    expect([backoff.isWaiting(now), backoff.isDue(now)]).toEqual([true, false]);
    now += 1;
    expect([backoff.isWaiting(now), backoff.isDue(now)]).toEqual([false, true]);
  }
});

test("begins with 30 seconds again after a reset", () => {
  const backoff = new RefusalBackoff();
  backoff.refused(0);
  backoff.refused(0);
  backoff.reset();
  expect(backoff.isDue(1_000_000)).toBe(false);
  backoff.refused(0);
  expect(backoff.isDue(30_000)).toBe(true);
});

test.each([
  ["now if nothing was sent before", undefined, 100],
  ["now if the latest one is of another generation", { generation: 6, issuedAt: 500 }, 100],
  ["now if the latest one was issued before", { generation: 7, issuedAt: 50 }, 100],
  ["after the latest one if the clock that issued it is ahead", { generation: 7, issuedAt: 500 }, 501],
])("issues a configuration %s", (_, latest, issuedAt) => {
  expect(issueTime(latest, 7, 100)).toBe(issuedAt);
});

describe("an agent that claims a configuration", () => {
  const now = 1_000_000;

  test("of another replica, whose clock is ahead, gets a later one of the same generation", () => {
    const claimed = { generation: 7, issuedAt: now + 60_000 };
    expect(orderToFollow(claimed, now)).toBe(claimed);
  });

  test("with a future time gets a configuration of the next generation, with the server's time", () => {
    const claimed = { generation: 7, issuedAt: now + 60_001 };
    const latest = orderToFollow(claimed, now);
    expect(latest.generation).toBe(8);
    expect(issueTime(latest, 8, now)).toBe(now);
  });

  test("with a future time gets no configuration if no later generation exists", () => {
    const { generation } = orderToFollow({ generation: Number.MAX_SAFE_INTEGER, issuedAt: now + 60_001 }, now);
    expect(Number.isSafeInteger(generation)).toBe(false);
  });
});
