import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CoalescedTask, type CoalescedTaskOptions } from "./coalesced-task.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A task whose runs end when the test says so. */
function controlled(options: Omit<CoalescedTaskOptions, "run"> = {}) {
  const runs: { readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  const task = new CoalescedTask({
    ...options,
    run: () => new Promise((end, fail) => runs.push({ end, fail })),
  });
  const finish = async (index: number, error?: Error) => {
    if (error === undefined) runs[index]?.end();
    else runs[index]?.fail(error);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { task, runs, finish };
}

describe("a request", () => {
  test("starts a run at once without a delay", () => {
    const { task, runs } = controlled();
    task.request();
    expect(runs).toHaveLength(1);
  });

  test("shares a run with the requests within the delay", async () => {
    const { task, runs } = controlled({ delayMs: 20 });
    task.request();
    await vi.advanceTimersByTimeAsync(19);
    task.request();
    expect(runs).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toHaveLength(1);
  });

  test("during a run is served by one more run", async () => {
    const { task, runs, finish } = controlled();
    task.request();
    for (let count = 0; count < 3; count += 1) task.request();
    expect(runs).toHaveLength(1);
    await finish(0);
    expect(runs).toHaveLength(2);
    await finish(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runs).toHaveLength(2);
  });

  test("by the work itself is served by one more run", async () => {
    let runs = 0;
    const task: CoalescedTask = new CoalescedTask({
      run: async () => {
        runs += 1;
        if (runs === 1) task.request();
        expect(runs).toBeLessThanOrEqual(2);
      },
    });
    task.request();
    expect(runs).toBe(1);
    await task.settled();
    expect(runs).toBe(2);
  });

  test("does not wait for the interval", async () => {
    const { task, runs } = controlled({ delayMs: 20, intervalMs: 1_000 });
    task.start();
    task.request();
    await vi.advanceTimersByTimeAsync(20);
    expect(runs).toHaveLength(1);
  });
});

describe("the interval", () => {
  test("begins with the end of a run", async () => {
    const { task, runs, finish } = controlled({ intervalMs: 1_000 });
    task.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(5_000);
    await finish(0);
    await vi.advanceTimersByTimeAsync(999);
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toHaveLength(2);
  });

  test("continues after a run that failed", async () => {
    const failed = vi.fn();
    const { task, runs, finish } = controlled({ intervalMs: 1_000, failed });
    task.start();
    await vi.advanceTimersByTimeAsync(1_000);
    const error = new Error("away");
    await finish(0, error);
    expect(failed).toHaveBeenCalledExactlyOnceWith(error);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(runs).toHaveLength(2);
  });
});

describe("running now", () => {
  test("joins the run that is in progress", async () => {
    const { task, runs, finish } = controlled();
    const both = [task.runNow(), task.runNow()];
    await finish(0);
    await Promise.all(both);
    expect(runs).toHaveLength(1);
  });

  test("throws the error of the run", async () => {
    const { task, finish } = controlled();
    const rejected = expect(task.runNow()).rejects.toThrow("away");
    await finish(0, new Error("away"));
    await rejected;
  });
});

describe("flushing", () => {
  test("serves a request before its delay ends", async () => {
    const { task, runs, finish } = controlled({ delayMs: 3_000 });
    task.request();
    const flushed = task.flush();
    await vi.advanceTimersByTimeAsync(0);
    expect(runs).toHaveLength(1);
    await finish(0);
    await flushed;
    await vi.advanceTimersByTimeAsync(3_000);
    expect(runs).toHaveLength(1);
  });

  test("runs nothing if nothing was requested", async () => {
    const { task, runs } = controlled();
    await task.flush();
    expect(runs).toHaveLength(0);
  });

  test("waits for the run in progress, and for the one that was requested during it", async () => {
    const { task, runs, finish } = controlled({ delayMs: 3_000 });
    task.request(0);
    task.request();
    let isFlushed = false;
    const flushed = task.flush().then(() => {
      isFlushed = true;
    });
    await finish(0);
    expect(runs).toHaveLength(2);
    expect(isFlushed).toBe(false);
    await finish(1);
    await flushed;
  });
});

describe("a run that fails", () => {
  test("is repeated after the retry time, even for callers that wait until the task is settled", async () => {
    const { task, runs, finish } = controlled({ retryMs: 500 });
    task.request();
    let isSettled = false;
    const settled = task.settled().then(() => {
      isSettled = true;
    });
    await finish(0, new Error("away"));
    await vi.advanceTimersByTimeAsync(499);
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toHaveLength(2);
    expect(isSettled).toBe(false);
    await finish(1);
    await settled;
  });

  test("is not repeated at once by a request that arrived during it", async () => {
    const { task, runs, finish } = controlled({ retryMs: 500 });
    task.request();
    task.request();
    await finish(0, new Error("away"));
    expect(runs).toHaveLength(1);
    task.request();
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(runs).toHaveLength(2);
  });
});

describe("those who wait until the task is settled", () => {
  /** @returns whether the wait has ended */
  function waiting(task: CoalescedTask): () => boolean {
    let isSettled = false;
    void task.settled().then(() => {
      isSettled = true;
    });
    return () => isSettled;
  }

  test("wait for the run that serves their request, and not for later ones", async () => {
    const { task, finish } = controlled();
    task.request();
    const early = waiting(task);
    task.request();
    const late = waiting(task);
    await finish(0);
    expect([early(), late()]).toEqual([true, false]);
    task.request();
    await finish(1);
    expect(late()).toBe(true);
  });

  test("wait for a run that succeeds, even if requests arrived during one that failed", async () => {
    const { task, finish } = controlled({ retryMs: 500 });
    task.request();
    const early = waiting(task);
    task.request();
    const late = waiting(task);
    await finish(0, new Error("away"));
    expect([early(), late()]).toEqual([false, false]);
    await vi.advanceTimersByTimeAsync(500);
    task.request();
    await finish(1);
    expect([early(), late()]).toEqual([true, true]);
  });
});

describe("stopping", () => {
  test("waits for the run in progress, and starts no other", async () => {
    const { task, runs, finish } = controlled({ intervalMs: 1_000 });
    task.start();
    task.request();
    task.request();
    let isStopped = false;
    const stopped = task.stop().then(() => {
      isStopped = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(isStopped).toBe(false);
    await finish(0);
    await stopped;
    task.request();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(runs).toHaveLength(1);
  });

  test("rejects those who wait until the task is settled", async () => {
    const { task, finish } = controlled({ retryMs: 500 });
    task.request();
    const rejected = expect(task.settled()).rejects.toThrow("stopped");
    await finish(0, new Error("away"));
    await task.stop();
    await rejected;
  });

  test("a task that is settled does not wait", async () => {
    const { task } = controlled();
    await task.settled();
  });
});
