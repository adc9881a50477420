import { expect, test } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import { WindowCounts } from "./window-counts.ts";

const windowMs = 60_000;

function counts(options: { capacity?: number; shared?: boolean; clock?: TestClock } = {}) {
  const { clock = new TestClock(), shared = false, ...rest } = options;
  return new WindowCounts({ windowMs, clock, shared, ...rest });
}

test("counts each name separately", () => {
  const counters = counts();
  expect(
    [counters.add("a"), counters.add("a"), counters.add("b"), counters.read("a"), counters.read("c")].map(
      ({ count }) => count,
    ),
  ).toEqual([1, 2, 1, 2, 0]);
});

test("restarts when the window ends, and returns that time", () => {
  const clock = new TestClock();
  const counters = counts({ clock });
  const { endsInMs } = counters.add("a");
  expect(endsInMs).toBe(windowMs - (clock.now().getTime() % windowMs));
  clock.advance(endsInMs - 1);
  expect(counters.add("a")).toEqual({ count: 2, endsInMs: 1 });
  clock.advance(1);
  expect(counters.read("a")).toEqual({ count: 0, endsInMs: windowMs });
  expect(counters.add("a")).toEqual({ count: 1, endsInMs: windowMs });
});

test("evicts the name that was counted first if there are too many", () => {
  const counters = counts({ capacity: 3 });
  for (const name of ["a", "b", "c", "a", "d"]) counters.add(name);
  expect(counters.size).toBe(3);
  expect(["a", "b", "c", "d"].map((name) => counters.read(name).count)).toEqual([0, 1, 1, 1]);
  for (let index = 0; index < 1_000; index += 1) counters.add(`name ${index}`);
  expect(counters.size).toBe(3);
});

test("adds shared totals to its own counts since then", () => {
  const counters = counts({ shared: true });
  counters.add("a");
  counters.add("a");
  const [unshared] = counters.takeUnshared();
  expect(unshared).toMatchObject({ name: "a", count: 2 });
  counters.add("a");
  counters.setShared([{ name: "a", windowStartMs: unshared?.windowStartMs ?? 0, count: 10 }]);
  expect(counters.read("a").count).toBe(11);
  expect(counters.takeUnshared()).toMatchObject([{ name: "a", count: 1 }]);
  expect(counters.takeUnshared()).toEqual([]);
});

test("retains counts that could not be shared, unless their window has ended", () => {
  const clock = new TestClock();
  const counters = counts({ shared: true, clock });
  counters.add("a");
  counters.restoreUnshared(counters.takeUnshared());
  counters.add("a");
  const taken = counters.takeUnshared();
  expect(taken).toMatchObject([{ name: "a", count: 2 }]);
  clock.advance(windowMs);
  counters.add("a");
  counters.restoreUnshared(taken);
  counters.setShared(taken.map((unshared) => ({ ...unshared, count: 100 })));
  expect(counters.read("a").count).toBe(1);
  expect(counters.takeUnshared()).toMatchObject([{ name: "a", count: 1 }]);
});

test("has no unshared counts if sharing is off", () => {
  const counters = counts();
  counters.add("a");
  expect(counters.takeUnshared()).toEqual([]);
});
