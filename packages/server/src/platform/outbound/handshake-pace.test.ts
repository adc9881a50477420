import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HandshakePace } from "./handshake-pace.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a usual step causes no pause", () => {
  const pace = new HandshakePace();
  pace.count("acme", 10);
  expect(pace.pauseOf("acme")).toBeUndefined();
});

test("a long step pauses its tenant for fifty times as long, and no other", async () => {
  const pace = new HandshakePace();
  pace.count("acme", 50);
  expect(pace.pauseOf("globex")).toBeUndefined();
  await vi.advanceTimersByTimeAsync(2_499);
  expect(pace.pauseOf("acme")).toBeDefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(pace.pauseOf("acme")).toBeUndefined();
});

test("a pause takes at most a minute", async () => {
  const pace = new HandshakePace();
  pace.count("acme", 1_000_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(pace.pauseOf("acme")).toBeUndefined();
});

test("many usual steps pause their tenant beyond a tenth of the time, and no other", async () => {
  const pace = new HandshakePace();
  let usedMs = 0;
  for (let ms = 0; ms < 10_000; ms++) {
    if (pace.pauseOf("acme") === undefined) {
      pace.count("acme", 7);
      usedMs += 7;
    }
    expect(pace.pauseOf("globex")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
  }
  // A tenth of 10 seconds, and half a second in a burst.
  expect(usedMs).toBeGreaterThan(1_400);
  expect(usedMs).toBeLessThan(1_600);
});

test("steps that use less than a tenth of the time cause no pause", async () => {
  const pace = new HandshakePace();
  for (let step = 0; step < 1_000; step++) {
    pace.count("acme", 4);
    expect(pace.pauseOf("acme")).toBeUndefined();
    await vi.advanceTimersByTimeAsync(41);
  }
});

test("tenants are forgotten once their shares have covered their debts", async () => {
  const pace = new HandshakePace();
  for (const tenant of ["acme", "globex"]) pace.count(tenant, 100);
  await vi.advanceTimersByTimeAsync(999);
  pace.count("initech", 1);
  expect(pace.size).toBe(3);
  await vi.advanceTimersByTimeAsync(1);
  // "initech" still has a debt.
  pace.count("globex", 100);
  expect(pace.size).toBe(2);
});
