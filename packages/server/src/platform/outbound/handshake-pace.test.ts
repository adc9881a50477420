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
