import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../clock.ts";
import { ClockTimer } from "./clock-timer.ts";

const hourMs = 60 * 60_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("calls back once, at the time that was set last", () => {
  const callback = vi.fn();
  const timer = new ClockTimer(systemClock, callback);
  timer.set(Date.now() + 1_000);
  timer.set(Date.now() + 2_000);
  vi.advanceTimersByTime(1_999);
  expect(callback).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  vi.advanceTimersByTime(hourMs);
  expect(callback).toHaveBeenCalledOnce();
});

test("calls back after an hour at the latest", () => {
  const callback = vi.fn();
  new ClockTimer(systemClock, callback).set(Date.now() + 24 * hourMs);
  vi.advanceTimersByTime(hourMs);
  expect(callback).toHaveBeenCalledOnce();
});

test.each([
  ["its time is set to Infinity", (timer: ClockTimer) => timer.set(Number.POSITIVE_INFINITY)],
  ["it is stopped", (timer: ClockTimer) => timer.stop()],
])("does not call back after %s", (_, end) => {
  const callback = vi.fn();
  const timer = new ClockTimer(systemClock, callback);
  timer.set(Date.now() + 1_000);
  end(timer);
  vi.advanceTimersByTime(hourMs);
  expect(callback).not.toHaveBeenCalled();
});
