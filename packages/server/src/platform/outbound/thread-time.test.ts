import { describe, expect, test, vi } from "vitest";
import { threadClock, threadTimeMs } from "./thread-time.ts";

describe("the time of a thread is", () => {
  test("the processor time that the kernel reports", () => {
    const read = vi.fn(() => "2500000 10 3\n");
    expect(threadClock(read)()).toBe(2.5);
  });

  test.each([
    ["reports 0", () => "0 0 0\n"],
    ["reports no number", () => "\n"],
    [
      "has no report",
      () => {
        throw new Error("ENOENT");
      },
    ],
  ])("elapsed time if the kernel %s", (_name, read) => {
    const clock = threadClock(read);
    const before = performance.now();
    expect(clock()).toBeGreaterThanOrEqual(before);
    expect(clock()).toBeGreaterThan(0);
  });

  test("of one clock, even if a later report fails", () => {
    let fails = false;
    const clock = threadClock(() => {
      if (fails) throw new Error("EMFILE");
      return "2500000 10 3\n";
    });
    expect(clock()).toBe(2.5);
    fails = true;
    expect(clock()).toBe(2.5);
  });

  test("never 0 on this system", () => {
    expect(threadTimeMs()).toBeGreaterThan(0);
  });
});
