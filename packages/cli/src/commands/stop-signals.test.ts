import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { endInTime } from "./stop-signals.ts";

const never = new Promise<never>(() => {});

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  // The type says that exit never returns; the mock has to.
  vi.spyOn(process, "exit").mockImplementation((() => undefined) as () => never);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("ends the process if aborted work does not end", () => {
  const stop = new AbortController();
  void endInTime(never, stop.signal);
  vi.advanceTimersByTime(60_000);
  stop.abort();
  vi.advanceTimersByTime(14_999);
  expect(process.exit).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(process.exit).toHaveBeenCalledWith(1);
  expect(process.stderr.write).toHaveBeenCalledWith(expect.stringContaining("15 seconds"), expect.anything());
});

test("leaves work alone that ends, whether it is aborted before or after", async () => {
  const stop = new AbortController();
  let comeBack = (_: string) => {};
  const work = new Promise<string>((resolve) => {
    comeBack = resolve;
  });
  const ended = endInTime(work, stop.signal);
  stop.abort();
  comeBack("done");
  expect(await ended).toBe("done");
  vi.advanceTimersByTime(60_000);
  const later = new AbortController();
  await endInTime(Promise.resolve(), later.signal);
  later.abort();
  vi.advanceTimersByTime(60_000);
  expect(process.exit).not.toHaveBeenCalled();
});
