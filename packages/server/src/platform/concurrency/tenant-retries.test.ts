import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TenantRetries } from "./tenant-retries.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a postponed attempt runs later and does not count as a failure", () => {
  const retries = new TenantRetries();
  for (let count = 0; count < 5; count += 1) {
    retries.postpone("a");
    vi.advanceTimersByTime(999);
    expect(retries.pausing).toEqual(["a"]);
    vi.advanceTimersByTime(1);
    expect(retries.isDue("a")).toBe(true);
  }
  expect(retries.failing).toEqual([]);
  expect(retries.waitMs("a")).toBe(500);
});
