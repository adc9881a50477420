import { expect, test } from "vitest";
import { TestClock } from "../../testing/test-clock.ts";
import { WindowCounts } from "./window-counts.ts";

const windowMs = 60_000;

function counts(options: { capacity?: number; shared?: boolean; clock?: TestClock } = {}) {
  const { clock = new TestClock(), shared = false, ...rest } = options;
  return new WindowCounts({ windowMs, clock, shared, ...rest });
}

test("counts each name separately", () => {
  const kept = counts();
  expect(
    [kept.add("a"), kept.add("a"), kept.add("b"), kept.read("a"), kept.read("c")].map(({ count }) => count),
  ).toEqual([1, 2, 1, 2, 0]);
});

test("restarts when the window ends, and returns that time", () => {
  const clock = new TestClock();
  const kept = counts({ clock });
  const { endsInMs } = kept.add("a");
  expect(endsInMs).toBe(windowMs - (clock.now().getTime() % windowMs));
  clock.advance(endsInMs - 1);
  expect(kept.add("a")).toEqual({ count: 2, endsInMs: 1 });
  clock.advance(1);
  expect(kept.read("a")).toEqual({ count: 0, endsInMs: windowMs });
  expect(kept.add("a")).toEqual({ count: 1, endsInMs: windowMs });
});

test("evicts the name that was counted first if there are too many", () => {
  const kept = counts({ capacity: 3 });
  for (const name of ["a", "b", "c", "a", "d"]) kept.add(name);
  expect(kept.size).toBe(3);
  expect(["a", "b", "c", "d"].map((name) => kept.read(name).count)).toEqual([0, 1, 1, 1]);
  for (let index = 0; index < 1_000; index += 1) kept.add(`name ${index}`);
  expect(kept.size).toBe(3);
});

test("adds shared totals to its own counts since then", () => {
  const kept = counts({ shared: true });
  kept.add("a");
  kept.add("a");
  const [told] = kept.takeUnshared();
  expect(told).toMatchObject({ name: "a", count: 2 });
  kept.add("a");
  kept.learn([{ name: "a", windowStartMs: told?.windowStartMs ?? 0, count: 10 }]);
  expect(kept.read("a").count).toBe(11);
  expect(kept.takeUnshared()).toMatchObject([{ name: "a", count: 1 }]);
  expect(kept.takeUnshared()).toEqual([]);
});

test("retains counts that could not be shared, unless their window has ended", () => {
  const clock = new TestClock();
  const kept = counts({ shared: true, clock });
  kept.add("a");
  kept.restoreUnshared(kept.takeUnshared());
  kept.add("a");
  const taken = kept.takeUnshared();
  expect(taken).toMatchObject([{ name: "a", count: 2 }]);
  clock.advance(windowMs);
  kept.add("a");
  kept.restoreUnshared(taken);
  kept.learn(taken.map((told) => ({ ...told, count: 100 })));
  expect(kept.read("a").count).toBe(1);
  expect(kept.takeUnshared()).toMatchObject([{ name: "a", count: 1 }]);
});

test("has no unshared counts if sharing is off", () => {
  const kept = counts();
  kept.add("a");
  expect(kept.takeUnshared()).toEqual([]);
});
