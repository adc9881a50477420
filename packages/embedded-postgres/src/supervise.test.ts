import { expect, test } from "vitest";
import type { LogEvent } from "./server-log.ts";
import { supervise } from "./supervise.ts";
import type { ProgramEnd, WatchedProcess } from "./watched-process.ts";

function deferred<T>(): { promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: (value) => resolve(value) };
}

const crash: ProgramEnd = { code: 2, signal: null };

/** A server that ends on any signal or on `end`. */
function fakeServer(pid: number): WatchedProcess & { end(): void; signals: string[] } {
  const { promise, resolve } = deferred<ProgramEnd>();
  const signals: string[] = [];
  const kill = (signal: string) => {
    signals.push(signal);
    resolve({ code: 0, signal: null });
  };
  return { pid, ended: promise, kill, signals, end: () => resolve(crash) };
}

test("starting is retried until it succeeds, and each failure is logged", async () => {
  const logged: LogEvent[] = [];
  const first = fakeServer(1);
  const second = fakeServer(2);
  const running = deferred<void>();
  let attempts = 0;
  const start = async () => {
    attempts += 1;
    if (attempts < 3) throw new Error(`attempt ${attempts}`);
    return second;
  };
  const supervision = supervise(first, start, (event) => {
    logged.push(event);
    if (event.level === "info") running.resolve();
  });
  expect(supervision.pid).toBe(1);
  first.end();
  await running.promise;
  expect(supervision.pid).toBe(2);
  expect(logged.map((event) => event.message)).toEqual([
    "PostgreSQL ended unexpectedly (exit code 2); starting it again",
    "attempt 1",
    "attempt 2",
    "PostgreSQL is running again",
  ]);
  await supervision.stop();
  expect(second.signals).toEqual(["SIGINT"]);
});

test("stop while a start is under way aborts the start and starts no other", async () => {
  const first = fakeServer(1);
  const starting = deferred<void>();
  let attempts = 0;
  const start = (abort: AbortSignal) => {
    attempts += 1;
    starting.resolve();
    return new Promise<WatchedProcess>((_, reject) => {
      abort.addEventListener("abort", () => reject(new Error("given up")));
    });
  };
  const logged: LogEvent[] = [];
  const supervision = supervise(first, start, (event) => logged.push(event));
  first.end();
  await starting.promise;
  await Promise.all([supervision.stop(), supervision.stop()]);
  expect(attempts).toBe(1);
  expect(supervision.pid).toBeUndefined();
  expect(logged.map((event) => event.message)).not.toContain("given up");
});
