import { expect, test, vi } from "vitest";
import { Semaphore } from "./semaphore.ts";

test("grants permits at once while some are free", () => {
  const semaphore = new Semaphore(2);
  expect(semaphore.isUnused).toBe(true);
  expect(semaphore.acquire()).toBeUndefined();
  expect(semaphore.isFree).toBe(true);
  expect(semaphore.acquire()).toBeUndefined();
  expect(semaphore.isFree).toBe(false);
  semaphore.release();
  semaphore.release();
  expect(semaphore.isUnused).toBe(true);
});

test("grants released permits in the order in which callers came", async () => {
  const semaphore = new Semaphore(1);
  void semaphore.acquire();
  const granted: number[] = [];
  const callers = [1, 2].map(async (caller) => {
    await semaphore.acquire();
    granted.push(caller);
  });
  expect(semaphore.waiting).toBe(2);
  semaphore.release();
  await callers[0];
  expect(granted).toEqual([1]);
  // The permit passed from holder to waiter: nobody else can take it in between.
  expect(semaphore.isFree).toBe(false);
  semaphore.release();
  await callers[1];
  expect(granted).toEqual([1, 2]);
});

test("rejects a caller that waits too long, and skips it afterwards", async () => {
  vi.useFakeTimers();
  try {
    const semaphore = new Semaphore(1);
    void semaphore.acquire();
    const error = new Error("no permit within 100 ms");
    const impatient = semaphore.acquire({ afterMs: 100, error: () => error });
    const patient = semaphore.acquire();
    const rejected = expect(impatient).rejects.toBe(error);
    vi.advanceTimersByTime(100);
    await rejected;
    semaphore.release();
    await patient;
    semaphore.release();
    expect(semaphore.isUnused).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});
